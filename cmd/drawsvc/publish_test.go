package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/publish/witnesstest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// committed is a database with the committed and open pool spring, and the file of
// the identity.
func committed(t *testing.T, url string) (program, string) {
	recipients, identity := keyFiles(t)
	p := on(t, url)
	p.ok("migrate", "up")
	p.ok("pool", "create", "spring", "--state=paused", "--prize", "id=gold,stock=5,value=19.90", "--prize", "id=silver,stock=995")
	p.ok("pool", "commit", "spring", "--origin=draws.example.org", "--seed-recipients", recipients)
	p.ok("pool", "open", "spring")
	return p, identity
}

// readFile is a file's content.
func readFile(t *testing.T, parts ...string) string {
	b, err := os.ReadFile(filepath.Join(parts...))
	require.NoError(t, err)
	return string(b)
}

// TestPublish: a pool is published while it is drawn from, and its folder proves
// it once it is closed and revealed.
func TestPublish(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p, identity := committed(t, stocktest.URL(t, dialect))
			dir := filepath.Join(t.TempDir(), "public")
			folder := filepath.Join(dir, "spring")
			publish := []string{"publish", "--once", "--dir", dir, "--seed-identity-file", identity}
			require.Equal(t, "spring: 5 entries are published\n", p.ok(publish...))
			key := readFile(t, folder, "key")
			witness := witnesstest.Start(t, key)
			publish = append(publish, "--witness", witness.Flag())
			require.Equal(t, "spring: 5 entries are published\n", p.ok(publish...), "nothing happened")
			s := p.serve("--seed-identity-file", identity)
			for i := range 300 {
				s.won("spring", fmt.Sprint("user-", i), fmt.Sprint("key-", i))
			}
			require.Equal(t, "spring: 305 entries are published\n", p.ok(publish...))
			require.EqualValues(t, 305, witness.Size("draws.example.org/spring"))
			require.NoFileExists(t, filepath.Join(folder, "log.jsonl"), "it tells how much is left")
			require.FileExists(t, filepath.Join(folder, "tile/0/000"))
			require.FileExists(t, filepath.Join(folder, "tile/0/001.p/49"))
			if dialect != "sqlite" { // whose file the service has
				require.Equal(t, readFile(t, folder, "checkpoint"), s.admin(200, "GET", "/pools/spring/proof/checkpoint", ""))
			}
			s.admin(200, "PATCH", "/admin/pools/spring", `{"state":"closed"}`)
			reveal := s.admin(200, "POST", "/admin/pools/spring/reveal", "")
			require.Equal(t, exitOK, s.end().code)
			require.Equal(t, "spring: 306 entries are published\n", p.ok(publish...))
			require.Equal(t, reveal, readFile(t, folder, "reveal"))
			require.Contains(t, program{tb: t}.ok("verify", folder, "--witness", witness.Key), "306 entries hold: 300 awards replayed from version 5 on")

			other := filepath.Join(t.TempDir(), "exported")
			p.ok("pool", "export-proof", "--pool=spring", other, "--seed-identity-file", identity)
			for _, name := range []string{"commitment", "key", "log.jsonl", "reveal"} {
				require.Equal(t, readFile(t, other, name), readFile(t, folder, name), name)
			}
			if dialect != "sqlite" {
				require.Equal(t, readFile(t, other, "checkpoints"), readFile(t, folder, "checkpoints"))
			}
		})
	}
}
