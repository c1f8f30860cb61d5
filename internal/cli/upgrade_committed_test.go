package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/api"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

const (
	// ownDraws is the number of draws of each instance on the committed pool.
	ownDraws = 20
	// committedUnits is the number of units of each of two prizes. With these numbers of
	// draws and units, random numbers give the same awards as the seed only once in a
	// million runs.
	committedUnits = 5000
)

// meetCommitted runs two programs on an open pool that is committed to its numbers. The
// next program has the seed. The old program runs with the seed, without a seed and with
// another seed. meetCommitted returns the violations of this promise: awards come only
// from the seed, and an instance without the seed answers 503 and draws from other
// pools.
func meetCommitted(t *testing.T, old, next program, spoil ...string) (faults []string) {
	t.Helper()
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	recipients, identity := keyFiles(t)
	foreign, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	require.NoError(t, old.execute("migrate", "up"))
	require.NoError(t, old.execute("pool", "create", "spring", "--state=paused",
		"--prize", fmt.Sprint("id=gold,stock=", committedUnits), "--prize", fmt.Sprint("id=tin,stock=", committedUnits)))
	require.NoError(t, old.execute("pool", "create", "other", "--prize", "id=tin,stock=100"))
	isExcluded, isFile := old.isReplacedFirst(t, next), strings.HasPrefix(old.vars["DRAWSVC_DATABASE"], "sqlite:")
	if !isExcluded {
		next.ok("migrate", "up")
	}
	next.ok("pool", "commit", "spring", "--origin=draws.example.org", "--seed-recipients", recipients)
	next.ok("pool", "open", "spring", "--seed-identity-file", identity)
	if len(spoil) > 0 {
		tamper(t, old.vars["DRAWSVC_DATABASE"], spoil...)
	}
	awards := 0
	won := func(by string, s *process) {
		for n := range ownDraws {
			if status, body, err := s.draw("spring", "u1", fmt.Sprint(by, n)); status != http.StatusOK || err != nil {
				fault("%s: the draw was answered %d %s %v", by, status, body, err)
				return
			}
			awards++
		}
	}
	for _, c := range []struct {
		name     string
		by       program
		identity string
		draws    bool
	}{
		{"next", next, identity, true},
		{"old", old, identity, true},
		{"old-without-a-seed", old, "", false},
		{"old-with-another-seed", old, filed(t, foreign.String()+"\n"), false},
		{"old-again", old, identity, true},
	} {
		if isExcluded && isFile && c.name != "next" { // it has migrated the file
			continue
		}
		var args []string
		if c.identity != "" {
			args = []string{"--seed-identity-file", c.identity}
		}
		s := c.by.start(args...)
		if c.draws {
			won(c.name, s)
		} else {
			faults = append(faults, lacksSeed(c.name, s)...)
		}
		code, _ := s.signal(terminate)
		require.Equal(t, exitOK, code, s.stderr.String())
	}

	next.ok("migrate", "up")
	s := next.serve("--seed-identity-file", identity)
	var audited api.Audit
	require.NoError(t, json.Unmarshal([]byte(s.admin(200, "GET", "/admin/pools/spring/audit", "")), &audited))
	issued := 0
	for _, prize := range audited.Prizes {
		issued += int(prize.Issued)
	}
	if !audited.OK || issued != awards {
		fault("%d units were issued, and %d draws won: %v", issued, awards, audited.Violations)
	}
	s.end()
	if o := next.run("pool", "close", "spring", "--reveal", "--seed-identity-file", identity); o.code != exitOK {
		fault("the reveal: %s", o.message)
		return faults
	}
	dir := t.TempDir()
	next.ok("pool", "export-proof", "--pool=spring", dir, "--seed-identity-file", identity)
	if o := (program{tb: t}).run("verify", dir); o.code != exitOK || !strings.Contains(o.stdout, fmt.Sprint(awards, " awards replayed")) {
		fault("verify: %s%s", o.message, o.stdout)
	}
	return append(faults, verifiedByRelease(t, old.file, dir)...)
}

// verifiedByRelease makes both verifiers of another release check a folder of this
// release.
func verifiedByRelease(t *testing.T, file, dir string) (faults []string) {
	t.Helper()
	if file == "" {
		return nil
	}
	servertest.NeedPrograms(t, "python3", "python3")
	require.FileExists(t, filepath.Join(dir, "zones"), "which that release does not know")
	python := filepath.Join(filepath.Dir(file), "docs", "verify", "verify.py") // the release was built in its source tree
	verify := func() (faults []string) {
		for _, command := range [][]string{{file, "verify", dir}, {"python3", python, dir}} {
			said, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
			if err != nil {
				faults = append(faults, fmt.Sprintf("%s: %v: %s", command, err, said))
			}
		}
		return faults
	}
	faults = verify()
	require.NoError(t, os.Remove(filepath.Join(dir, "reveal")))
	require.Len(t, verify(), 2, "the double: a folder that they must refuse")
	return faults
}

// lacksSeed draws on an instance that must not draw from the committed pool.
func lacksSeed(name string, s *process) (faults []string) {
	for n := range ownDraws {
		for _, key := range []string{"", fmt.Sprint(name, n)} {
			status, body, err := s.draw("spring", "u1", key)
			if status != http.StatusServiceUnavailable || !strings.Contains(body, `"code":"seed-unavailable","outcome":"none"`) {
				return []string{fmt.Sprintf("%s: the draw was answered %d %s %v", name, status, body, err)}
			}
		}
	}
	if status, body, err := s.draw("other", "u1", ""); status != http.StatusOK {
		return []string{fmt.Sprintf("%s: a draw from another pool was answered %d %s %v", name, status, body, err)}
	}
	return nil
}

// TestUpgradeCommitted: this program runs on a committed pool together with itself, and
// with the next program, whose schema only adds.
func TestUpgradeCommitted(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		old, next := on(t, url), on(t, url)
		next.schema = "additive"
		require.Empty(t, meetCommitted(t, old, next))
	})
}

// TestUpgradeCommittedCatches: programs that draw from the pool with their own numbers
// fail.
func TestUpgradeCommittedCatches(t *testing.T) {
	t.Parallel()
	url := stocktest.URL(t, "postgres")
	faults := meetCommitted(t, on(t, url), on(t, url), `UPDATE pools SET committed = 0 WHERE id = 'spring'`)
	require.Contains(t, strings.Join(faults, "\n"), "old-without-a-seed: the draw was answered 200")
	require.Contains(t, strings.Join(faults, "\n"), "units were issued")
}
