package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Double is a build of the service without one of its laws. It is made from the current
// source, so that the released program has no switch for it. The edit is stated in the
// source itself, in a comment above the code:
//
//	//double:NAME CODE => WHAT IT HAS INSTEAD
//
// The code must occur exactly once before the next empty line.
type Double struct {
	Program string
	// Flaw describes what the double does wrong, in the words of the page.
	Flaw string
}

// The doubles.
const (
	RefusesKnown   = "drawsvc-refuses-known"
	KeepsAnswers   = "drawsvc-keeps-answers"
	PicksAgain     = "drawsvc-picks-again"
	VersionsOnly   = "drawsvc-versions-only"
	TrustsStandbys = "drawsvc-trusts-standbys"
	Heedless       = "drawsvc-heedless"
	NoTurns        = "drawsvc-no-turns"
	Unfenced       = "drawsvc-unfenced"
	NoTakeover     = "drawsvc-no-takeover"
	Excludes       = "drawsvc-excludes"
	TrustsFiles    = "drawsvc-trusts-files"
	Guessable      = "drawsvc-guessable"
	FirstCome      = "drawsvc-first-come"
	AlwaysReady    = "drawsvc-always-ready"
	ReadsOnly      = "drawsvc-reads-only"
	BlamesCallers  = "drawsvc-blames-callers"
	Unbounded      = "drawsvc-unbounded"
	SharesBounds   = "drawsvc-shares-bounds"
	CountsBefore   = "drawsvc-counts-before"
	LateTicker     = "drawsvc-late-ticker"
	OwnClocks      = "drawsvc-own-clocks"
	RepeatsImports = "drawsvc-repeats-imports"
	GivesCodesOnce = "drawsvc-gives-codes-once"
	KeepsCodes     = "drawsvc-keeps-codes"
	HastyRelay     = "drawsvc-hasty-relay"
	OneQueue       = "drawsvc-one-queue"
	PassesForks    = "drawsvc-passes-forks"
	IgnoresCommits = "drawsvc-ignores-commits"
)

// Ahead is the service's next release, which has a newer, additive schema. It is built
// like a double.
const Ahead = "drawsvc-ahead"

// Later is a release that has one more time zone, LaterZone.
const (
	Later     = "drawsvc-later"
	LaterZone = "America/Later"
)

// Doubles returns the doubles that cells must find broken.
func Doubles() []Double {
	return []Double{
		{CountsBefore, "the service, which counts a user's turns some time before it inserts them"},
		{LateTicker, "the service, which leaves the agenda to its ticker"},
		{OwnClocks, "the service, whose instances go by their own clocks"},
		{RepeatsImports, "the service, which checks imported lines again"},
		{GivesCodesOnce, "the service, which gives a code with the first answer only"},
		{KeepsCodes, "the service, whose units return without their codes"},
		{HastyRelay, "the service, whose relay takes every answer for an acceptance"},
		{OneQueue, "the service, all of whose hooks share one queue"},
		{PassesForks, "the service, whose relay does not notice another history"},
		{RefusesKnown, "the service, which refuses a key without a read of the log"},
		{KeepsAnswers, "the service, which refuses a key by an outdated read of the log"},
		{PicksAgain, "the service, which picks again after a write that failed"},
		{VersionsOnly, "the service, which knows a history by its version alone"},
		{TrustsStandbys, "the service, which accepts refusals of read-only servers"},
		{Heedless, "the service, whose changes ignore a cancelled wait for a standby"},
		{Unfenced, "the service, whose jobs neither end with their lock nor are fenced"},
		{NoTakeover, "the service, whose jobs wait for a runner that does not come back"},
		{NoTurns, "the service, whose optimistic draws never lock the row"},
		{TrustsFiles, "the service, which does not notice a replaced file"},
		{FirstCome, "the service, which serves first in, first out, whatever time its callers have left"},
		{Guessable, "the service, which never says that too many wrong tokens came"},
		{Unbounded, "the service, whose audits have no bound, and whose readiness waits for their connections"},
		{SharesBounds, "the service, whose bounds are shared by all roles"},
		{AlwaysReady, "the service, whose metrics say that it is ready whatever it cannot reach"},
		{ReadsOnly, "the service, whose readiness only reads"},
		{BlamesCallers, "the service, which blames callers for rules that it cannot read"},
		{IgnoresCommits, "the service, which takes a COMMIT that failed for one that succeeded"},
		{Excludes, "the service's next release, whose schema does not admit the present one"},
	}
}

// Tested is a double that a test must reject, instead of a cell. It leaves out one line
// of a decision, which a test finds more reliably than load.
type Tested struct {
	Double
	// Package is the folder of the test, from the repository's root; Test is its name.
	// Flags are for this test only.
	Package, Test string
	Flags         []string
}

// TestedDoubles returns the doubles that tests must find broken.
func TestedDoubles() []Tested {
	const model = "TestAgainstModel"
	// The failing example need not be shrunk or kept.
	quick := []string{"-rapid.shrinktime=1ms", "-rapid.nofailfile"}
	// These defects show only after several steps in a certain order.
	long := append([]string{"-rapid.checks=3000"}, quick...)
	return []Tested{
		{Double{"drawsvc-checks-each", "the service, which checks each draw of a user in a batch alone"}, "internal/draw/urn", model, quick},
		{Double{"drawsvc-reads-too-soon", "the service, which takes draws in behind the read of their users"}, "internal/group", "TestWhoComesDuringTheReadWaits", nil},
		{Double{"drawsvc-keeps-tallies", "the service, whose undone plans leave their turns behind"}, "internal/draw/urn", model, quick},
		{Double{"drawsvc-keeps-rules", "the service, which keeps rules that were replaced"}, "internal/draw/urn", model, quick},
		{Double{"drawsvc-joins-shorter", "the service, which keeps only the shorter of two windows of one kind"}, "internal/draw/urn", model, long},
		{Double{"drawsvc-trusts-truncated", "the service, which takes truncated turns for all turns"}, "internal/draw/urn", model, long},
		{Double{"drawsvc-keeps-turns-of-rules", "the service, which keeps turns over a change of the rules"}, "internal/draw/urn", model, long},
		{Double{"drawsvc-keeps-old-turns", "the service, which keeps turns over draws of another instance"}, "internal/draw/urn", model, long},
		{Double{"drawsvc-trusts-suppositions", "the service, which supposes what no write proves"}, "internal/draw/urn", "TestProvenSuppositionsAreTrue", nil},
		{Double{"drawsvc-forgives", "the service, whose redirects begin a run of misses anew"}, "internal/draw/urn", model, quick},
		{Double{"drawsvc-refused-takes", "the service, whose refused draws take moments"}, "internal/draw/urn", "TestRefusedDrawsTakeNoMoment", nil},
		{Double{"drawsvc-own-moments", "the service, each of whose instances has a queue of moments of its own"}, "internal/lockmode", "TestThousandsOfMoments/postgres", nil},
		{Double{"drawsvc-ticker-does-moments", "the service, whose ticker does moments"}, "internal/stock", "TestContract/sqlite/moments_are_taken", nil},
		{Double{"drawsvc-keeps-tickets", "the service, each of whose instances keeps its own tickets"}, "internal/cli", "TestTicketIsOneDraw/postgres", nil},
		{Double{"drawsvc-keeps-reasons", "the service, which tells draws after a failed batch that the pool is contended"}, "internal/group", "TestWaitingDrawsGetTheFailureReason", nil},
		{Double{"drawsvc-refuses-in-doubt", "the service, which refuses draws whose commit is still under way"}, "internal/group", "TestRefusalOfADrawThatMayLand", nil},
		{Double{"drawsvc-blind-to-tls", "the service, which does not find the connection of a request under TLS"}, "internal/http", "TestSlowBodiesMakeRoom", nil},
		{Double{"drawsvc-reads-before-lock", "the service, which expires awards by the rules that it read before it waited"}, "internal/stock", "TestExtensionsPrecedeExpiry/postgres", nil},
		{Double{"drawsvc-stocks-on-trust", "the service, which stocks units without counting their codes"}, "internal/stock", "TestContract/sqlite/codes_are_stock", nil},
		{Double{"drawsvc-reads-in-conflict", "the service, whose writes read codes after a conflict too"}, "internal/stock", "TestRoundTripsOfCodes", nil},
		{Double{"drawsvc-doubts-unread", "the service, which doubts commits whose codes it cannot read"}, "internal/stock", "TestCommitsOutliveTheReadOfCodes", nil},
		{Double{"drawsvc-prepares-in-write", "the service, whose writes prepare the read of codes before they begin"}, "internal/stock", "TestCommitsOutliveTheReadOfCodes", nil},
		{Double{"drawsvc-believes-tickets", "the service, which takes the algorithm from the ticket"}, "internal/ticket", "TestReadRefuses", nil},
	}
}

// HasPoints reports whether a program is built with fault points. Only such a program
// can have its instances' clocks moved, its runs of jobs stopped midway, or be killed at a
// point.
func HasPoints(program string) bool {
	return slices.Contains([]string{OwnClocks, Unfenced, NoTakeover, RepeatsImports, GivesCodesOnce, KeepsCodes, IgnoresCommits}, program)
}

// Edited returns all programs that are built from edited source.
func Edited() []Double {
	all := append(Doubles(), Double{Program: Ahead}, Double{Program: Later})
	for _, d := range TestedDoubles() {
		all = append(all, d.Double)
	}
	return all
}

// DoubleOf finds the double by its program's name.
func DoubleOf(program string) (Double, bool) { return find(Doubles(), program) }

// EditedOf finds a program by its name among all that are built from edited source.
func EditedOf(program string) (Double, bool) { return find(Edited(), program) }

func find(all []Double, program string) (Double, bool) {
	for _, d := range all {
		if d.Program == program {
			return d, true
		}
	}
	return Double{}, false
}

// Overlay writes the edited files of the doubles, all for one program, to a folder. It
// returns the file for the flag -overlay of the go command. root is the repository's
// root.
func Overlay(root, folder string, doubles ...Double) (string, error) {
	texts, err := sources(filepath.Join(root, "internal"), filepath.Join(root, "cmd"))
	if err != nil {
		return "", err
	}
	name, replaced := doubles[0].Program, map[string]string{}
	for file, text := range texts {
		broken := text
		for _, d := range doubles {
			if broken, err = d.breakAt(broken); err != nil {
				return "", fmt.Errorf("%s: %w", file, err)
			}
		}
		if broken == text {
			continue
		}
		to := filepath.Join(folder, fmt.Sprint(name, "-", len(replaced), ".go"))
		if err := os.WriteFile(to, []byte(broken), 0o600); err != nil {
			return "", err
		}
		replaced[file] = to
	}
	if len(replaced) == 0 {
		return "", fmt.Errorf("the source has no comment //%s", strings.Replace(name, "drawsvc-", "double:", 1))
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	file := filepath.Join(folder, name+".json")
	return file, os.WriteFile(file, text, 0o600)
}

// marks matches the comments that name a double, the code and its replacement.
func marks() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*//double:(\S+) (.+?) =>(?: (.*))?$`)
}

// breakAt replaces the code below each of the double's comments in a source.
func (d *Double) breakAt(text string) (string, error) {
	mark, lines := marks(), strings.Split(text, "\n")
	for n, line := range lines {
		m := mark.FindStringSubmatch(line)
		if m == nil || "drawsvc-"+m[1] != d.Program {
			continue
		}
		found, at := 0, 0
		for k := n + 1; k < len(lines) && lines[k] != ""; k++ {
			if times := strings.Count(lines[k], m[2]); times > 0 && !mark.MatchString(lines[k]) {
				found, at = found+times, k
			}
		}
		if found != 1 {
			return "", fmt.Errorf("below %q the code is there %d times, and has to be there once", strings.TrimSpace(line), found)
		}
		lines[at] = strings.Replace(lines[at], m[2], m[3], 1)
	}
	return strings.Join(lines, "\n"), nil
}

// sources returns the texts of the packages in the folders, by file, without tests and
// fault points.
func sources(folders ...string) (texts map[string]string, err error) {
	texts = map[string]string{}
	add := func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "fault":
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		texts[path] = string(text)
		return err
	}
	for _, folder := range folders {
		err = errors.Join(err, filepath.WalkDir(folder, add))
	}
	return texts, err
}
