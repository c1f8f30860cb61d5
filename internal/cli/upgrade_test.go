package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/api"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

const terminate = syscall.SIGTERM

// execute runs a command of the program, as a process, to its end.
func (p program) execute(args ...string) error {
	out, err := p.command(args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%v: %w: %s", args, err, out)
	}
	return nil
}

// roll upgrades a fleet under load from one program to another, and goes back,
// as docs/upgrading.md says. It returns what callers or the balancer saw that
// they should not.
func roll(t *testing.T, old, next program) []string {
	t.Helper()
	require.NoError(t, old.execute("migrate", "up"))
	require.NoError(t, old.execute("pool", "create", "spring", "--prize", "id=gold,stock=1000", "--prize", "id=tin,stock=1000000"))
	isFile := strings.HasPrefix(old.vars["DRAWSVC_DATABASE"], "sqlite:") // belongs to one process
	f := newFleet(t)
	replace := func(by program) {
		if isFile {
			f.leave()
			f.join(by)
		} else {
			f.join(by)
			f.leave()
		}
	}
	instances := 3
	if isFile {
		instances = 1
	}
	for range instances {
		f.join(old)
	}
	if !f.goOn() {
		return f.found()
	}
	if isFile {
		f.leave()
	}
	require.NoError(t, next.execute("migrate", "up"))
	if isFile {
		f.join(old)
	}
	if !f.goOn() { // old instances, on the new schema
		return f.found()
	}
	if !isFile {
		err := old.execute("stock", "add", "--pool", "spring", "--prize", "gold", "--delta", "1", "--reason", "restock")
		if err != nil { // before a draw has met it
			f.fault("%v", err)
			return f.found()
		}
	}
	replace(old) // one of them starts there
	for _, by := range []program{next, old} {
		for range instances {
			if !f.goOn() {
				return f.found()
			}
			replace(by)
		}
	}
	f.goOn()
	last := f.all()[0]
	f.halt()
	t.Log(f.answers)

	f.keeps(last)
	var audited api.Audit
	require.NoError(t, json.Unmarshal([]byte(next.ok("audit", "--pool", "spring", "--output", "json")), &audited))
	require.True(t, audited.OK)
	issued := 0
	for _, prize := range audited.Prizes {
		issued += int(prize.Issued)
	}
	require.Equal(t, len(f.won), issued, "each key won once")
	return f.found()
}

// TestUpgrade: this program beside the next one, whose schema adds.
func TestUpgrade(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		old, next := on(t, url), on(t, url)
		next.schema = "additive"
		require.Empty(t, roll(t, old, next))
	})
}

// TestUpgradeFromRelease: the newest release beside this program and beside the
// next one. Before the first release there is none to promise anything to. Of
// databases, schemas and kinds of pool each two meet, and all three by make test-all.
func TestUpgradeFromRelease(t *testing.T) {
	t.Parallel()
	releases, err := parseReleases(readReleases(t))
	require.NoError(t, err)
	if len(releases) == 0 {
		return
	}
	servertest.Long(t) // it builds the release
	file := built(t, releases[len(releases)-1])
	kinds := []struct {
		of   string
		meet func(t *testing.T, old, next program) []string
	}{
		{"", roll},
		{"committed on ", func(t *testing.T, old, next program) []string { return meetCommitted(t, old, next) }},
	}
	for row, dialect := range []string{"sqlite", "postgres", "mysql"} {
		for layer, schema := range []string{"", "additive"} {
			for column, kind := range kinds {
				if !servertest.Every() && !servertest.Meets(row, column, layer, 2) {
					continue
				}
				t.Run(kind.of+dialect+" to "+schema, func(t *testing.T) {
					t.Parallel()
					url := stocktest.URL(t, dialect)
					old, next := on(t, url), on(t, url)
					old.file, next.schema = file, schema
					require.Empty(t, kind.meet(t, old, next))
				})
			}
		}
	}
}

// TestUpgradeCatches: migrations that break what they promise are condemned.
func TestUpgradeCatches(t *testing.T) {
	t.Parallel()
	for schema, fault := range map[string]string{
		"breaking":  `answer that is not documented: 500`,
		"excluding": `does not admit this drawsvc`,
	} {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			url := stocktest.URL(t, "postgres")
			old, next := on(t, url), on(t, url)
			next.schema = schema
			faults := strings.Join(roll(t, old, next), "\n")
			require.Contains(t, faults, fault)
		})
	}
}
