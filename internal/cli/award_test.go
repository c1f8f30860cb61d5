package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// shipping is a pool whose prize gold needs a claim and whose prize card has codes.
// golds are the versions of three won golds, and card is the version of a card with the
// code AAAA-1111. AAAA-1112 is in the reserve.
type shipping struct {
	program
	keys, dir string
	golds     [3]string
	card      string
}

func newShipping(t *testing.T) *shipping {
	t.Helper()
	s := &shipping{program: on(t, stocktest.Migrated(t, "sqlite")), dir: t.TempDir()}
	s.keys = sealKeyFile(t, filepath.Join(s.dir, "keys"), "k1")
	s.ok("pool", "create", "spring", "--prize", "id=gold,stock=3", "--rules", s.file("rules", `{"claims":{"prizes":["gold"]}}`))
	s.ok("prize", "add", "--pool", "spring", "--codes", "--prize", "id=card,value=25.00")
	server := s.serve("--public-draw", "--seal-keys", s.keys)
	draw := func(user string) string {
		answer, _ := server.won("spring", user, "")
		return fmt.Sprint(answer["awards"].([]any)[0].(map[string]any)["version"])
	}
	for i := range s.golds {
		s.golds[i] = draw(fmt.Sprint("u", i))
	}
	require.Equal(t, exitOK, server.end().code)
	s.ok("codes", "import", "--pool", "spring", "--prize", "card", "--seal-keys", s.keys, s.file("codes", "AAAA-1111\n"))
	s.ok("codes", "import", "--pool", "spring", "--prize", "card", "--seal-keys", s.keys, "--reserve", s.file("more", "AAAA-1112\n"))
	server = s.serve("--public-draw", "--seal-keys", s.keys)
	s.card = draw("u4")
	require.Contains(t, server.admin(http.StatusOK, "GET", "/admin/pools/spring/awards/"+s.card, ""), `"prize":"card"`)
	require.Equal(t, exitOK, server.end().code)
	return s
}

func (s *shipping) file(name, text string) string {
	path := filepath.Join(s.dir, name)
	require.NoError(s.tb, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// of returns the arguments of a command about an award.
func of(name, award string, more ...string) []string {
	return append([]string{"award", name, award, "--pool", "spring"}, more...)
}

// TestAwardsAreFulfilledAndVoided: each step is made once, and a repetition prints it
// again. A step that the award's state does not allow is refused.
func TestAwardsAreFulfilledAndVoided(t *testing.T) {
	t.Parallel()
	s := newShipping(t)
	one, two := s.golds[0], s.golds[1]
	require.Equal(t, 5, strings.Count(s.ok("award", "list", "--pool", "spring", "--state", "won"), "\n"))
	require.Contains(t, s.ok("award", "list", "--pool", "spring", "--state", "won", "--output", "json"), `"user":"u0"`)
	require.Contains(t, s.ok(of("show", one)...), "needs claim  yes\n")
	s.refused(exitUsage, "--state is missing", "award", "list", "--pool", "spring")
	s.refused(exitUsage, "state must be", "award", "list", "--pool", "spring", "--state", "sent")
	s.refused(exitUsage, "must be a version", of("show", "first")...)
	s.refused(exitFailure, "99", of("show", "99")...)

	require.Equal(t, "pool spring: award "+one+" is fulfilled (step 1)\n", s.ok(of("fulfil", one, "--reference", "DHL 1", "--from", "won")...))
	require.Equal(t, "pool spring: award "+one+" is fulfilled (step 1); it was so already\n", s.ok(of("fulfil", one, "--reference", "DHL 1")...))
	s.refused(exitFailure, "fulfilled", of("fulfil", one, "--reference", "DHL 2", "--from", "won")...)
	require.Contains(t, s.ok("award", "list", "--pool", "spring", "--state", "fulfilled"), "DHL 1\n")
	require.Equal(t, "pool spring: award "+one+" is reopened (step 2)\n", s.ok(of("reopen", one, "--reason", "came back")...))
	s.refused(exitFailure, "fulfilled", of("reopen", two)...)
	shown := s.ok(of("show", one)...)
	require.Contains(t, shown, "state        claimed\n")
	require.Contains(t, shown, "came back\n")

	s.refused(exitUsage, "reason is missing", of("void", two)...)
	s.refused(exitUsage, "reason has only blanks", of("void", two, "--reason", "  ")...)
	s.refused(exitUsage, "from must be", of("void", two, "--reason", "fraud", "--from", "sent")...)
	require.Regexp(t, `^pool spring: award `+two+` is voided \(step 3\); its unit is back in stock \(version \d+\)\n$`, s.ok(of("void", two, "--reason", "fraud", "--return")...))
	require.Contains(t, s.ok(of("void", two, "--reason", "fraud", "--return", "--output", "json")...), `"replayed":true`)
	s.refused(exitFailure, "has ended", of("fulfil", two)...)
	require.Contains(t, s.ok("pool", "show", "spring"), "gold")
	require.Contains(t, s.ok("audit"), "0 violations")
}

// TestCodesOfAwardsAreReplacedAndShown: a code is printed only with the seal key, and
// the unit of a shown code does not return to stock.
func TestCodesOfAwardsAreReplacedAndShown(t *testing.T) {
	t.Parallel()
	s := newShipping(t)
	s.refused(exitFailure, "key", of("code", s.card)...)
	require.Equal(t, "AAAA-1111\n", s.ok(of("code", s.card, "--seal-keys", s.keys)...))
	require.Contains(t, s.ok(of("replace", s.card, "--reason", "used")...), "is replaced (step 2)")
	require.Equal(t, `{"award":`+s.card+`,"code":"AAAA-1112"}`+"\n", s.ok(of("code", s.card, "--seal-keys", s.keys, "--output", "json")...))
	require.NotContains(t, s.ok(of("show", s.card)...)+s.ok("award", "steps", "--pool", "spring"), "AAAA")
	require.Equal(t, "prize,place,state,version,code\ncard,-2,replaced,,AAAA-1111\ncard,1,won,"+s.card+",AAAA-1112\n",
		s.ok("codes", "export", "--pool", "spring", "--seal-keys", s.keys))
	require.Equal(t, "prize,place,state,version,code\ncard,1,won,"+s.card+",AAAA-1112\n",
		s.ok("codes", "export", "--pool", "spring", "--issued", "--seal-keys", s.keys), "as many as the count issued")
	s.refused(exitFailure, "code", of("void", s.card, "--reason", "fraud", "--return")...)
	s.refused(exitFailure, "reserve", of("replace", s.card, "--from", "won", "--reason", "again")...)
	s.refused(exitFailure, "without codes", of("code", s.golds[0], "--seal-keys", s.keys)...)
}

// TestStepsOfAFile: a file with a bad line makes no step, a dry run makes no step, and
// a repeated file makes only the missing steps.
func TestStepsOfAFile(t *testing.T) {
	t.Parallel()
	s := newShipping(t)
	steps := func(more ...string) []string { return append([]string{"award", "steps", "--pool", "spring"}, more...) }
	good := s.file("good", "award,to,reference\n"+s.golds[0]+",fulfilled,P1\n"+s.golds[1]+",fulfilled,P2\n")
	bad := s.file("bad", "award,to,reference\n"+s.golds[0]+",fulfilled,P1\n99,fulfilled,P2\n")
	none := `{"steps":[],"next":0}` + "\n"

	s.refused(exitFailure, "line 3", steps(bad)...)
	s.refused(exitFailure, "no such file", steps(filepath.Join(s.dir, "nothing"))...)
	s.refused(exitUsage, "--dry-run is for a file", steps("--dry-run")...)
	s.refused(exitUsage, "--after is for printing", steps("--after", "1", good)...)
	s.refused(exitUsage, "--after must be", steps("--after", "-1")...)
	require.Contains(t, s.ok(steps("--dry-run", good)...), "pool spring: lines 2, steps made 2, unchanged 0; this was a dry run, and no step was made\n")
	require.Equal(t, none, s.ok(steps("--output", "json")...))
	require.Equal(t, "pool spring: lines 2, steps made 2, unchanged 0\n", s.ok(steps(good)...))
	require.Equal(t, `{"lines":2,"written":0,"unchanged":2,"dry_run":false,"encoding":"utf-8"}`+"\n", s.ok(steps("--output", "json", good)...))
	require.Equal(t, 3, strings.Count(s.ok(steps()...), "\n"))
	later := s.ok(steps("--after", "1", "--output", "json")...)
	require.Contains(t, later, `"reference":"P2"`)
	require.NotContains(t, later, `"reference":"P1"`)
}
