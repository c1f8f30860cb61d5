package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// TestVerifiableAgenda: a committed pool has an agenda. The log contains only a seal of
// the planned items, and a line for each item that came due. Both verifiers replay the
// draws before and after such lines.
func TestVerifiableAgenda(t *testing.T) {
	t.Parallel()
	servertest.NeedPrograms(t, "python3", "python3")
	recipients, identity := keyFiles(t)
	p := on(t, stocktest.Migrated(t, "sqlite"))
	p.ok("migrate", "up")
	p.ok("pool", "create", "spring", "--state=paused", "--prize", "id=gold,stock=5", "--prize", "id=silver,stock=95")
	p.ok("agenda", "add", "--pool=spring", "--at", rfc(time.Now().Add(time.Hour)), "--prize=gold", "--delta=77", "--reason=secret-reason")
	planSoon(t, func(at time.Time) outcome {
		return p.run("agenda", "spread", "--pool=spring", "--prize=gold", "--units=4", "--from", rfc(at), "--to", rfc(at.Add(time.Second)), "--random")
	})
	p.ok("pool", "commit", "spring", "--origin=draws.example.org", "--seed-recipients", recipients)
	p.ok("agenda", "remove", "--pool=spring", "1")
	p.ok("pool", "open", "spring", "--seed-identity-file", identity)
	s := p.serve("--seed-identity-file", identity, "--seed-recipients", recipients)
	draws := 0
	require.Eventually(t, func() bool {
		s.won("spring", fmt.Sprint("user-", draws), fmt.Sprint("key-", draws))
		draws++
		return strings.Contains(s.admin(200, "GET", "/admin/pools/spring", ""), `"stocked":9,`)
	}, commandMax, 100*time.Millisecond)
	s.won("spring", "last", "last")
	s.admin(200, "PATCH", "/admin/pools/spring", `{"state":"closed"}`)
	require.Equal(t, exitOK, s.end().code)
	p.ok("pool", "reveal", "spring", "--seed-identity-file", identity)
	dir := filepath.Join(t.TempDir(), "proof")
	p.ok("pool", "export-proof", "--pool=spring", dir, "--seed-identity-file", identity)
	require.Contains(t, program{tb: t}.ok("verify", dir), fmt.Sprint(draws+1, " awards replayed"))
	second(t, exitOK, dir)
	log, err := os.ReadFile(filepath.Join(dir, "log.jsonl"))
	require.NoError(t, err)
	require.NotContains(t, string(log), "secret-reason", "it was removed before it was due")
	require.Equal(t, 3, strings.Count(string(log), `"kind":"agenda","count":`), "one item, the list, and what was removed")
	require.Contains(t, p.ok("audit", "--deep"), " 0 violations")
}
