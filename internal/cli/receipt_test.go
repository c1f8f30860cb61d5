package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestReceipts: with the answer to a draw, its holder can check the receipt offline,
// prove that the draw is in the log, and prove the fault of a log that lacks it.
func TestReceipts(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p, identity := openCommitted(t, stocktest.Migrated(t, dialect))
			p.ok("pool", "create", "secret", "--prize", "id=gold,stock=5")
			s := p.serve("--seed-identity-file", identity)
			body := `{"pool":"spring","user":"ann","count":3,"receipt":true}`
			ask := func(body, key string) string {
				status, answer, err := s.ask("POST", "/draw", body, "Idempotency-Key", `"`+key+`"`)
				require.NoError(t, err)
				require.Equal(t, 200, status, answer)
				return answer
			}
			kept := filed(t, ask(body, "key of ann"))
			again := filed(t, ask(body, "key of ann"))
			other := filed(t, ask(strings.Replace(body, "ann", "bob", 1), "key-of-bob"))
			s.admin(400, "POST", "/draw", strings.Replace(body, "spring", "secret", 1))
			open := filed(t, s.admin(200, "GET", "/pools/spring/draws/key%20of%20ann/receipt", ""))
			key := strings.TrimSpace(s.admin(200, "GET", "/pools/spring/proof/key", ""))
			s.admin(200, "PATCH", "/admin/pools/spring", `{"state":"closed"}`)
			s.admin(200, "POST", "/admin/pools/spring/reveal", "")
			proven := filed(t, s.admin(200, "GET", "/pools/spring/draws/key%20of%20ann/receipt", ""))
			checkpoint := filed(t, s.admin(200, "GET", "/pools/spring/proof/checkpoint", ""))
			require.Equal(t, exitOK, s.end().code)
			dir := filepath.Join(t.TempDir(), "proof")
			p.ok("pool", "export-proof", "--pool=spring", dir, "--seed-identity-file", identity)

			outside := program{tb: t}
			for _, file := range []string{kept, again, open} {
				shown := outside.ok("receipt", "verify", file, "--key", key, "--draw=key of ann", "--user=ann")
				require.True(t, strings.HasSuffix(shown, "\nthe receipt holds\n"), shown)
				require.Equal(t, 4, strings.Count(shown, "\n"))
				second(t, 0, "--receipt", file, "--key", key, "--draw", "key of ann", "--user", "ann")
			}
			shown := outside.ok("receipt", "verify", proven, "--key", key, "--checkpoint", checkpoint, "--user=ann")
			require.Contains(t, shown, "the receipt holds; the log of 12 entries has it\n")
			second(t, 0, "--receipt", proven, "--key", key, "--checkpoint", checkpoint)
			for _, wrong := range [][]string{
				{kept, "--draw=other"}, {kept, "--user=bob"}, {open, "--checkpoint", checkpoint}, {proven, "--checkpoint", filepath.Join(dir, "commitment")}, {checkpoint},
			} {
				o := outside.run(append([]string{"receipt", "verify", "--key", key}, wrong...)...)
				require.Equal(t, exitViolation, o.code, wrong)
				require.Regexp(t, `^receipt: .*\n$`, o.stdout)
				require.Empty(t, o.message)
			}
			receiptsConvict(t, outside, dir, kept, other)
			outside.refused(exitUsage, "--key is missing", "receipt", "verify", kept)
			outside.refused(exitUsage, "--key: ", "receipt", "verify", kept, "--key=x")
			outside.refused(exitFailure, "no such file", "receipt", "verify", "/none/such", "--key", key)
			outside.refused(exitFailure, "no such file", "verify", dir, "--receipts=/none/such")
		})
	}
}

// TestReceiptsForAll: a pool that was committed with receipts answers every draw with a
// receipt, over HTTP and from the database, however it was committed.
func TestReceiptsForAll(t *testing.T) {
	t.Parallel()
	recipients, identity := keyFiles(t)
	p := on(t, stocktest.Migrated(t, "sqlite"))
	p.ok("migrate", "up")
	for _, id := range []string{"spring", "summer"} {
		p.ok("pool", "create", id, "--state=paused", "--prize", "id=gold,stock=5,value=19.90", "--prize", "id=silver,stock=95")
	}
	p.ok("pool", "commit", "spring", "--origin=draws.example.org", "--seed-recipients", recipients, "--receipts")
	p.ok("pool", "open", "spring", "--seed-identity-file", identity)
	s := p.serve("--seed-identity-file", identity, "--seed-recipients", recipients, "--origin=draws.example.org")
	s.admin(201, "POST", "/admin/pools/summer/commitment", `{"receipts":true}`)
	s.admin(200, "PATCH", "/admin/pools/summer", `{"state":"open"}`)
	outside := program{tb: t}
	for _, pool := range []string{"spring", "summer"} {
		key := strings.TrimSpace(s.admin(200, "GET", "/pools/"+pool+"/proof/key", ""))
		status, answer, err := s.ask("POST", "/draw", `{"pool":"`+pool+`","user":"ann","count":2}`, "Idempotency-Key", `"a"`)
		require.NoError(t, err)
		require.Equal(t, 200, status, answer)
		_, again, err := s.ask("POST", "/draw", `{"pool":"`+pool+`","user":"ann","count":2}`, "Idempotency-Key", `"a"`)
		require.NoError(t, err)
		require.Equal(t, strings.Replace(answer, `"replayed":false`, `"replayed":true`, 1), again)
		outside.ok("receipt", "verify", filed(t, answer), "--key", key, "--draw=a", "--user=ann")
		second(t, 0, "--receipt", filed(t, again), "--key", key, "--draw", "a", "--user", "ann")
		require.Contains(t, s.admin(200, "GET", "/admin/pools/"+pool+"/log?acts=true", ""), `"receipts":true`)
	}
	require.Equal(t, exitOK, s.end().code)
}

// receiptsConvict: a receipt that differs from its entry in the log makes the
// verification of the folder fail.
func receiptsConvict(t *testing.T, p program, dir string, receipts ...string) {
	var all []byte
	for _, path := range receipts {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		all = append(all, b...)
	}
	good := filed(t, string(all))
	p.ok("verify", dir, "--receipts", good)
	second(t, 0, dir, "--receipts", good)
	bad := filed(t, strings.Replace(string(all), `"prize":"`, `"prize":"x`, 1))
	o := p.run("verify", dir, "--receipts", bad)
	require.Equal(t, exitViolation, o.code)
	require.Regexp(t, `(?m)^entry 0: receipt: receipt 1: `, o.stdout)
	require.Contains(t, second(t, 3, dir, "--receipts", bad), "entry 0: receipt: receipt 1: ")
}

func filed(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// second runs the second verifier, and returns its output.
func second(t *testing.T, code int, args ...string) string {
	t.Helper()
	exit, said := servertest.SecondVerifier(t, args...)
	require.Equal(t, code, exit, said)
	return said
}
