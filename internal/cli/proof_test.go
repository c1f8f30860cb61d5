package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// keyFiles returns the files of a recipient and of its identity.
func keyFiles(t *testing.T) (recipients, identity string) {
	t.Helper()
	return filed(t, "# the campaign's\n"+stocktest.Recipient+"\n"), filed(t, stocktest.Identity+"\n")
}

// TestVerifiableDraws: a pool is committed, drawn from, closed, revealed and exported,
// by commands and by HTTP, and the files can be verified.
func TestVerifiableDraws(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			recipients, identity := keyFiles(t)
			p := on(t, stocktest.Migrated(t, dialect))
			p.ok("migrate", "up")
			p.ok("pool", "create", "spring", "--state=paused", "--prize", "id=gold,stock=5,value=19.90", "--prize", "id=silver,stock=95")
			p.ok("prize", "rename", "--pool=spring", "--prize=gold", "--name=Golden <coin>")
			note := p.ok("pool", "commit", "spring", "--origin=draws.example.org", "--seed-recipients", recipients, "--epochs=9", "--epoch-length=7")
			require.Contains(t, note, "origin draws.example.org/spring\n")
			require.Contains(t, note, "\nlog 4 ")
			p.refused(exitFailure, "is already committed", "pool", "commit", "spring", "--origin=a.example", "--seed-recipients", recipients)
			p.ok("pool", "open", "spring", "--seed-identity-file", identity)
			s := p.serve("--seed-identity-file", identity, "--seed-recipients", recipients)
			for i := range 20 {
				s.won("spring", fmt.Sprint("user-", i), fmt.Sprint("key-", i))
			}
			require.Equal(t, note, s.admin(200, "GET", "/pools/spring/proof/commitment", ""))
			require.Contains(t, s.admin(200, "GET", "/admin/pools/spring", ""), `"committed":5,`)
			stands := commitmentOf(t, s)
			require.Equal(t, commitment{Version: 5, Level: "committed", Origin: "draws.example.org/spring", Note: note, Epochs: 9, EpochLength: 7, Beacon: "none", Seeds: "available", Key: stands.Key}, stands)
			s.admin(404, "GET", "/pools/spring/proof/log", "")
			s.admin(409, "POST", "/admin/pools/spring/reveal", "")
			s.admin(409, "POST", "/admin/pools/spring/commitment", "{}")
			s.admin(200, "PATCH", "/admin/pools/spring", `{"state":"closed"}`)
			s.admin(409, "POST", "/admin/pools/spring/prizes/gold/stock", `{"delta":1,"reason":"late"}`)
			reveal := s.admin(200, "POST", "/admin/pools/spring/reveal", "")
			require.True(t, strings.HasPrefix(reveal, "3 "), "twenty versions behind the opening need three seeds: %s", reveal)
			require.Equal(t, reveal, *commitmentOf(t, s).Reveal)
			require.NotNil(t, commitmentOf(t, s).Checkpoint, "the reveal signs one")
			log := s.admin(200, "GET", "/pools/spring/proof/log", "")
			overHTTP := exportsOverHTTP(t, s)
			require.Equal(t, exitOK, s.end().code)

			dir := filepath.Join(t.TempDir(), "proof")
			require.Equal(t, reveal, p.ok("pool", "reveal", "spring", "--seed-identity-file", identity))
			p.ok("pool", "export-proof", "--pool=spring", dir, "--seed-identity-file", identity)
			exported, err := os.ReadFile(filepath.Join(dir, "log.jsonl"))
			require.NoError(t, err)
			require.Equal(t, log, string(exported))
			for _, name := range []string{"log.jsonl", "commitment", "key", "checkpoints", "checkpoint", "reveal", "zones"} {
				info, err := os.Stat(filepath.Join(dir, name))
				require.NoError(t, err)
				require.Equal(t, os.FileMode(publicFile), info.Mode().Perm(), "%s is for everybody", name)
				mine, err := os.ReadFile(filepath.Join(dir, name))
				require.NoError(t, err)
				theirs, err := os.ReadFile(filepath.Join(overHTTP, name))
				require.NoError(t, err)
				require.Equal(t, string(mine), string(theirs), "%s over HTTP", name)
			}
			require.Contains(t, log, `"name":"gold","value":"19.90"`, "the prize as it was added")
			require.Contains(t, log, `"kind":"prize","prize":"gold","name":"Golden <coin>","value":"19.90"`)
			require.NotContains(t, log, "user-")
			require.NotContains(t, log, "key-")
			outside := program{tb: t}
			require.Contains(t, outside.ok("verify", dir, "--kept", filepath.Join(dir, "checkpoint")), "20 awards replayed from version 6 on")
			verifyCatches(t, outside, dir, log)
			p.refused(exitFailure, "committed to its numbers", "pool", "delete", "spring")
			erases(t, p, dir, log, identity)
			require.Equal(t, "pool spring: the user is replaced in 0 awards\n", p.ok("user", "forget", "nobody", "--pool", "spring"))
		})
	}
}

// commitment is the answer to GET /admin/pools/{pool}/commitment.
type commitment struct {
	Version                          int64
	Level, Origin, Note, Key, Beacon string
	Epochs                           int64
	EpochLength                      int64   `json:"epoch_length"`
	RoundsURL                        *string `json:"rounds_url"`
	Opened                           *struct {
		Round     int64
		Signature string
	}
	Checkpoint, Reveal *string
	SaltsErased        bool `json:"salts_erased"`
	Seeds              string
}

func commitmentOf(t *testing.T, s *service) (c commitment) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(s.admin(200, "GET", "/admin/pools/spring/commitment", "")), &c))
	return c
}

// exportsOverHTTP: the command gets the files of a pool from the service that draws.
// With a service, flags about the database's keys are refused.
func exportsOverHTTP(t *testing.T, s *service) (dir string) {
	t.Helper()
	token, _ := keyFiles(t)
	require.NoError(t, os.WriteFile(token, []byte(s.token), 0o600))
	far := program{tb: t, vars: map[string]string{"DRAWSVC_SERVER": s.url, "DRAWSVC_TOKEN_FILE": token, "DRAWSVC_SEED_IDENTITY_FILE": "/none/such"}}
	dir = filepath.Join(t.TempDir(), "over", "http")
	require.Empty(t, far.ok("pool", "export-proof", "--pool=spring", dir))
	require.Contains(t, far.ok("verify", dir), "20 awards replayed")
	for _, line := range []string{"reveal", "open", "close"} {
		far.refused(exitUsage, "a service unseals by its own", "pool", line, "spring", "--seed-identity-file=x")
	}
	far.refused(exitUsage, "a service seals to its own recipients", "pool", "commit", "spring", "--seed-recipients=x")
	far.refused(exitUsage, "a service seals to its own recipients", "pool", "commit", "spring", "--escrow=x")
	return dir
}

// erases: the holder of the identity erases a user of a committed pool, and the log
// does not change.
func erases(t *testing.T, p program, dir, log, identity string) {
	p.ok("pool", "create", "other", "--prize", "id=gold,stock=1")
	refused := p.run("user", "forget", "user-1", "--all")
	require.Equal(t, exitFailure, refused.code)
	require.Contains(t, refused.message, "pool spring: no identity")
	require.Equal(t, "pool other: the user is replaced in 0 awards\n", refused.stdout, "the others have their turn")
	require.Contains(t, p.ok("user", "forget", "user-1", "--all", "--seed-identity-file", identity), "pool spring: the user is replaced in 1 award\n")
	p.ok("pool", "export-proof", "--pool=spring", dir, "--seed-identity-file", identity)
	again, err := os.ReadFile(filepath.Join(dir, "log.jsonl"))
	require.NoError(t, err)
	require.Equal(t, log, string(again))
	p.ok("audit", "--deep", "--pool=spring")
	p.refused(exitUsage, "--proof is missing", "pool", "erase-salts", "spring", "--seed-identity-file", identity)
	p.refused(exitFailure, "no identity", "pool", "erase-salts", "spring", "--proof", dir)
	p.refused(exitUsage, "they lack its reveal", "pool", "erase-salts", "spring", "--proof", t.TempDir(), "--seed-identity-file", identity)
	p.ok("pool", "erase-salts", "spring", "--proof", dir, "--seed-identity-file", identity)
	p.refused(exitFailure, "was destroyed", "pool", "export-proof", "--pool=spring", dir, "--seed-identity-file", identity)
	program{tb: t}.ok("verify", dir)
	publish := []string{"publish", "--once", "--dir", filepath.Join(t.TempDir(), "public"), "--seed-identity-file", identity}
	require.Empty(t, p.ok(publish...), "there is nothing to publish, and nothing wrong")
	p.refused(exitFailure, "was destroyed", append(publish, "--pool=spring")...)
}

// verifyCatches: verify finds a change of the files. It reports the change by its exit
// code, and by the last line of its output or as JSON.
func verifyCatches(t *testing.T, p program, dir, log string) {
	require.NoError(t, os.WriteFile(filepath.Join(dir, "log.jsonl"), []byte(strings.Replace(log, `"prize":"silver","unit":1,`, `"prize":"gold","unit":1,`, 1)), 0o600))
	o := p.run("verify", dir)
	require.Equal(t, exitViolation, o.code)
	require.Regexp(t, `^time zones: [0-9]{4}[a-z]+\nentry [0-9]+: award: .*\n$`, o.stdout)
	require.Empty(t, o.message)
	o = p.run("verify", dir, "--output=json")
	require.Equal(t, exitViolation, o.code)
	var report struct {
		OK     bool
		Entry  int64
		Rule   string
		Detail string
	}
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &report))
	require.False(t, report.OK)
	require.Equal(t, "award", report.Rule)
	require.Positive(t, report.Entry)
}

// TestExportRefusesForks: rows that differ from the signed ones are not exported.
func TestExportRefusesForks(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			recipients, identity := keyFiles(t)
			url := stocktest.Migrated(t, dialect)
			p := on(t, url)
			p.ok("migrate", "up")
			p.ok("pool", "create", "spring", "--state=paused", "--prize", "id=gold,stock=5")
			p.ok("pool", "commit", "spring", "--origin=draws.example.org", "--seed-recipients", recipients)
			dir := filepath.Join(t.TempDir(), "proof")
			p.ok("pool", "export-proof", "--pool=spring", dir, "--seed-identity-file", identity)
			p.refused(exitFailure, "close it before", "pool", "reveal", "spring", "--seed-identity-file", identity)
			p.refused(exitFailure, "no identity", "pool", "reveal", "spring")
			require.Contains(t, p.ok("verify", "--live", dir), "3 entries hold: 0 awards replayed")
			require.Contains(t, p.run("verify", dir).stdout, "there is no file reveal: the seed is not revealed yet; --live takes")
			require.NoError(t, os.Remove(filepath.Join(dir, "log.jsonl")))
			require.Contains(t, p.run("verify", "--live", dir).stdout, "there is no file log.jsonl: it comes with the reveal, or before it where")
			store := stocktest.Open(t, url, stock.Options{})
			stocktest.ExecAll(t, store, []string{`UPDATE moves SET reason = 'other' WHERE pool_id = 'spring'`})
			if dialect == "sqlite" { // only one process may open the file
				require.NoError(t, store.Engine().Close())
			}
			p.refused(exitViolation, "not those that were signed", "pool", "export-proof", "--pool=spring", dir, "--seed-identity-file", identity)
			p.refused(exitViolation, "not those that were signed", "pool", "close", "spring", "--seed-identity-file", identity)
		})
	}
}

func TestProofUsage(t *testing.T) {
	t.Parallel()
	recipients, identity := keyFiles(t)
	p := on(t, stocktest.Migrated(t, "sqlite"))
	for line, want := range map[string]string{
		"pool commit":                                                                              "the pool's id is missing",
		"pool commit spring --origin=a.example":                                                    "--seed-recipients is missing",
		"pool commit spring --seed-recipients=" + recipients:                                       "--origin: the origin must be a host",
		"pool commit spring --origin=a.example/ --seed-recipients=" + recipients:                   "--origin: the origin must be a host",
		"pool commit spring --origin=a.example --seed-recipients=" + identity:                      "--seed-recipients: age recipients",
		"pool commit spring --origin=a.example --beacon=fastnet --seed-recipients=" + recipients:   "--beacon: the beacon must be none, quicknet",
		"pool commit spring --origin=a.example --stock-while-open --seed-recipients=" + recipients: "stock_while_open is for a pool with a beacon",
		"pool open spring --fetch --round-file=x":                                                  "give --round-file or --fetch, not both",
		"pool open spring --fetch --beacon-url=x":                                                  "--beacon-url must be such as",
		"pool commit spring --origin=a.example --escrow=x --seed-recipients=" + recipients:         "--escrow: age recipients",
		"pool commit spring --origin=a.example --epochs=0 --seed-recipients=" + recipients:         "epochs must be 1 to 65536",
		"pool commit spring --origin=a.example --epoch-length=0 --seed-recipients=" + recipients:   "epoch_length must be 1 to",
		"pool reveal spring --seed-identity-file=" + recipients:                                    "--seed-identity-file: the text holds no age identities",
		"pool close spring --reveal":                                                               "--reveal needs --seed-identity-file",
		"pool export-proof --pool=spring":                                                          "an argument is missing: the form is drawsvc pool export-proof --pool ID DIR",
		"verify":                                                                                   "an argument is missing: the form is drawsvc verify",
		"verify . --key=x":                                                                         "--key: \"x\" is no verifier key",
		"serve --seed-identity-file=" + recipients:                                                 "--seed-identity-file: the text holds no age identities",
		"serve --seed-recipients=" + identity:                                                      "--seed-recipients: age recipients",
		"verify . --witness=x":                                                                     "--witness: \"x\" is no verifier key of a witness",
		"publish":                                                                                  "--dir is missing",
		"publish --dir=x --pool=X":                                                                 "the pool's id",
		"publish --dir=x":                                                                          "--seed-identity-file is missing",
		"publish --dir=x --publish-entries=now":                                                    "--publish-entries must be revealed or live",
		"publish --dir=x --every=1ms":                                                              "--every must be",
		"publish --dir=x --witness=y":                                                              "must be URL=VKEY",
		"publish --dir=x --witness=https://w.example=y":                                            "is no verifier key of a witness",
		"publish --dir=x --seed-identity-file=" + recipients:                                       "--seed-identity-file: the text holds no age identities",
		"publish --dir=" + recipients + "x --metrics-listen=x --seed-identity-file=" + identity:    "--metrics-listen must be HOST:PORT",
	} {
		p.refused(exitUsage, want, strings.Fields(line)...)
	}
	p.refused(exitUsage, "no such file", "pool", "reveal", "spring", "--seed-identity-file=/none/such")
	p.refused(exitFailure, "is no folder", "verify", "/none/such")
}
