package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/api"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

const terminate = syscall.SIGTERM

// execute runs a command of the program in a separate process, to its end.
func (p program) execute(args ...string) error {
	out, err := p.command(args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%v: %w: %s", args, err, out)
	}
	return nil
}

// roll upgrades a fleet under load from one program to another, and back, as
// docs/upgrading.md describes. It returns the answers that callers or the balancer should
// not have got.
func roll(t *testing.T, old, next program) []string {
	t.Helper()
	require.NoError(t, old.execute("migrate", "up"))
	require.NoError(t, old.execute("pool", "create", "spring", "--prize", "id=gold,stock=1000", "--prize", "id=tin,stock=1000000"))
	r := rolling{fleet: newFleet(t), old: old, next: next, isFile: strings.HasPrefix(old.vars["DRAWSVC_DATABASE"], "sqlite:"), instances: 3}
	if r.isFile { // it belongs to one process
		r.instances = 1
	}
	for range r.instances {
		r.join(old)
	}
	steps := r.migrateFirst
	if old.isReplacedFirst(t, next) {
		steps = r.replaceFirst
	}
	if !r.goOn() || !steps() || !r.goOn() {
		return r.found()
	}
	last := r.all()[0]
	r.halt()
	t.Log(r.answers)

	r.keeps(last)
	var audited api.Audit
	require.NoError(t, json.Unmarshal([]byte(next.ok("audit", "--pool", "spring", "--output", "json")), &audited))
	require.True(t, audited.OK)
	issued := 0
	for _, prize := range audited.Prizes {
		issued += int(prize.Issued)
	}
	require.Equal(t, len(r.won), issued, "each key won once")
	if r.isFile {
		r.leave()
	}
	return r.found()
}

// isReplacedFirst reports whether the programs must be replaced before the schema is
// migrated. They must if the next program's schema excludes this program, and the next
// program works on this program's schema.
func (p program) isReplacedFirst(t *testing.T, next program) bool {
	t.Helper()
	said, _ := p.command("migrate", "status", "--output", "json").Output() // its exit code states whether migrations are pending
	var status struct{ Known int }
	require.NoError(t, json.Unmarshal(said, &status))
	set := schemas[next.schema]()
	return status.Known < stocktest.Admits(set) && set.OldestSchema <= int64(status.Known)
}

// rolling is an upgrade under way.
type rolling struct {
	*fleet
	old, next program
	isFile    bool
	instances int
}

// replace replaces an instance by an instance of another program.
func (r *rolling) replace(by program) {
	if r.isFile {
		r.leave()
		r.join(by)
		return
	}
	r.join(by)
	r.leave()
}

// replaceAll replaces all instances, and reports whether draws continued to succeed.
func (r *rolling) replaceAll(by program) bool {
	for range r.instances {
		if !r.goOn() {
			return false
		}
		r.replace(by)
	}
	return true
}

// migrateFirst is the upgrade to a schema that permits the old program. The old program
// works on that schema, also when it is started on it and when the upgrade is reverted.
func (r *rolling) migrateFirst() bool {
	if r.isFile {
		r.leave()
	}
	require.NoError(r.tb, r.next.execute("migrate", "up"))
	if r.isFile {
		r.join(r.old)
	}
	if !r.goOn() { // old instances draw on the new schema
		return false
	}
	if !r.isFile {
		err := r.old.execute("stock", "add", "--pool", "spring", "--prize", "gold", "--delta", "1", "--reason", "restock")
		if err != nil { // the old program may meet the new schema first in this command
			r.fault("%v", err)
			return false
		}
	}
	r.replace(r.old) // an old instance starts on the new schema
	return r.replaceAll(r.next) && r.replaceAll(r.old)
}

// replaceFirst is the upgrade to a schema that excludes the old program: the next
// program works on the old schema, and can be replaced by the old one until the schema
// is migrated. A file is migrated by the program that is started on it.
func (r *rolling) replaceFirst() bool {
	if !r.isFile && !(r.replaceAll(r.next) && r.replaceAll(r.old)) {
		return false
	}
	if !r.replaceAll(r.next) {
		return false
	}
	if !r.isFile {
		require.NoError(r.tb, r.next.execute("migrate", "up"))
	}
	if !r.goOn() {
		return false
	}
	if !r.isFile {
		require.ErrorContains(r.tb, r.old.execute("pool", "list"), "does not admit this drawsvc")
	}
	return r.replaceAll(r.next)
}

// TestUpgrade runs this program together with the next program, whose schema only adds
// to this program's.
func TestUpgrade(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		old, next := on(t, url), on(t, url)
		next.schema = "additive"
		require.Empty(t, roll(t, old, next))
	})
}

// replaceable returns the newest release. If it has this program's schema, the newest
// release with an older schema follows, so that draws meet a migration in any case. This
// program must work on that schema.
func replaceable(t *testing.T, releases []release) []release {
	t.Helper()
	newest := len(releases) - 1
	for i, r := range slices.Backward(releases) {
		known := r.knows(t)
		if known < schemas[""]().OldestSchema {
			break
		}
		if known < (program{}).knows() {
			return slices.Compact([]release{releases[newest], releases[i]})
		}
	}
	return releases[newest:]
}

func TestReplaceable(t *testing.T) {
	t.Parallel()
	first, err := parseReleases(readReleases(t))
	require.NoError(t, err)
	head, err := git(t.Context(), "rev-parse", "HEAD")
	require.NoError(t, err)
	same := release{"9.0.0", head}
	require.Equal(t, first[:1], replaceable(t, first[:1]))
	require.Equal(t, []release{same, first[0]}, replaceable(t, []release{first[0], same}))
}

// TestUpgradeFromRelease runs replaceable releases together with this program and with
// the next program. Before the first release there is nothing to check. The test covers
// all pairs of databases, schemas and kinds of pools; make test-all covers all triples.
func TestUpgradeFromRelease(t *testing.T) {
	t.Parallel()
	releases, err := parseReleases(readReleases(t))
	require.NoError(t, err)
	if len(releases) == 0 {
		return
	}
	servertest.Long(t) // it builds the releases
	for _, r := range replaceable(t, releases) {
		t.Run(r.version, func(t *testing.T) {
			t.Parallel()
			upgradeFrom(t, built(t, r))
		})
	}
}

func upgradeFrom(t *testing.T, file string) {
	t.Helper()
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
					useUpgraded(t, next)
				})
			}
		}
	}
}

// TestUpgradeCatches: migrations that break their promises fail.
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
