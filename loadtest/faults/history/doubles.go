package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Double is the service with a law left out of its source. It is built from the
// source as it is, with some places replaced, so that the released program
// holds no switch for it.
type Double struct {
	Program string
	// Flaw is what it does wrong, in the words of the page.
	Flaw  string
	edits []edit
}

type edit struct{ from, to string }

// The doubles.
const (
	RefusesKnown   = "drawsvc-refuses-known"
	KeepsLooks     = "drawsvc-keeps-looks"
	PicksAgain     = "drawsvc-picks-again"
	VersionsAlone  = "drawsvc-versions-alone"
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
	CountsBefore   = "drawsvc-counts-before"
	LateTicker     = "drawsvc-late-ticker"
	OwnClocks      = "drawsvc-own-clocks"
)

// Ahead is the service's next release, whose schema adds. It is built like a double.
const Ahead = "drawsvc-ahead"

// Later is a release that knows one more time zone, LaterZone.
const (
	Later     = "drawsvc-later"
	LaterZone = "America/Later"
)

// Doubles are all that have to be condemned.
func Doubles() []Double {
	return append(ofCampaigns(), []Double{
		{RefusesKnown, "the service, which refuses a key without a read of the log", []edit{
			{`names = append(names, a.DrawID)`, `_ = a`},
		}},
		{KeepsLooks, "the service, which refuses a key by what the log said in an attempt before", []edit{
			{`w.Log.Age()`, `_ = w`},
		}},
		{PicksAgain, "the service, which picks again after a write that failed", []edit{
			{`u.deck.begin(&u.stream, version)`, `newDeck().begin(&u.stream, version)`},
		}},
		{VersionsAlone, "the service, which knows a history by its version alone", []edit{
			{` && h.Mark == other.Mark }`, ` }`},
			{` && h.Trail.has(other.Mark)`, ``},
			{` AND mark = $10`, ` AND $10::bigint IS NOT NULL`},
			{` AND pools.mark = planned.mark`, ``},
			{` AND mark = ?`, ` AND ? IS NOT NULL`},
		}},
		{TrustsStandbys, "the service, which refuses on the word of any server", []edit{
			{`NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = 'off'`, `TRUE`},
			{`@@global.read_only IN ('0', 'OFF')`, `TRUE`},
		}},
		{Heedless, "the service, whose changes do not heed the end of the wait for a standby", []edit{
			{`l.Engine.Commit == nil`, `l.Engine.Commit == nil || true`},
		}},
		{Unfenced, "the service, whose jobs neither end with their lock nor are fenced", []edit{
			{`context.WithTimeoutCause(ctx, d.Max, `, `context.WithTimeoutCause(context.WithoutCancel(ctx), 10*d.Max, `},
			{`if !r.Holds(run) {`, `if false {`},
		}},
		{NoTakeover, "the service, whose jobs wait for a runner that does not come back", []edit{
			{`return r.Status == StatusRunning && now.Sub(r.HeardAt).Abs() < r.silenceMax()`, `return r.Status == StatusRunning`},
		}},
		{NoTurns, "the service, whose optimistic draws never lock the row", []edit{
			{`lockLast: true`, `lockLast: false`},
		}},
		{TrustsFiles, "the service, which takes an open file for the one at its path", []edit{
			{`case !os.SameFile(is, opened):`, `case false && !os.SameFile(is, opened):`},
		}},
		{FirstCome, "the service, which serves first in, first out, whatever time its callers have left", []edit{
			{`wait <= part(limits.Timeout, waitPart)`, `wait >= 0`},
			{`w.since.Before(lastCome) && !b.behindVain`, `w.since.Before(lastCome) && false`},
		}},
		{Guessable, "the service, which never says that too many wrong tokens came", []edit{
			{`case !found && g.guesses.wrong(g.remote(r), now):`, `case !found && g.guesses.wrong(g.remote(r), now) && false:`},
		}},
		{Unbounded, "the service, whose audits have no bound, and whose readiness waits for their connections", []edit{
			{`c.take(c.server.bounds.streams, 1,`, `c.take(newShares([ranks]int64{1 << 20, 1 << 20, 1 << 20, 1 << 20}), 1,`},
			{`k.engine.Probe.QueryRowContext(ctx, admitsFrom)`, `k.engine.Read.QueryRowContext(ctx, admitsFrom)`},
		}},
		{AlwaysReady, "the service, whose metrics say that it is ready whatever it cannot reach", []edit{
			{`return isOne(r.isReady())`, `return isOne(r.isReady() || true)`},
		}},
		{ReadsOnly, "the service, whose readiness only reads", []edit{
			{`if err := r.store.CheckWritable(); err != nil {`, `if err := r.store.CheckWritable(); err != nil && false {`},
		}},
		{BlamesCallers, "the service, which blames callers for rules that it cannot read", []edit{
			{`e := Errorf(CodeRulesUnreadable, what+`, `e := Errorf(CodeInvalidRequest, what+`},
		}},
		{Excludes, "the service's next release, whose schema does not admit the present one", nextSchema("Excluding")},
	}...)
}

func ofCampaigns() []Double {
	return []Double{
		{CountsBefore, "the service, which counts a user's turns some time before it inserts them", []edit{
			{`n.what ORDER BY seq DESC LIMIT 1`, `n.what AND at < clock_timestamp() - interval '200 ms' ORDER BY seq DESC LIMIT 1`},
			{`import (
	"fmt"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// statements are`, `import (
	"fmt"
	"strings"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// statements are`},
			{`insertMade(engine.Turns(), "$4::timestamptz, ", 5)`, `strings.Replace(insertMade(engine.Turns(), "$4::timestamptz, ", 5), "a.seq", ` +
				`"COALESCE((SELECT MAX(seq) FROM turns AS t WHERE t.pool_id = $1 AND t.user_id = a.user_id AND t.what = a.what), 0)` +
				` + row_number() OVER (PARTITION BY a.user_id, a.what ORDER BY a.seq)", 1)`},
		}},
		{LateTicker, "the service, which leaves the agenda to its ticker", []edit{
			{`return u.due || !u.DueAt.IsZero() && !now.Before(u.DueAt)`, `return false`},
			{`case u.DueAt.IsZero() || at.Before(u.DueAt):`, `case true:`},
			{`+ table + ` + "`due_at IS NULL OR `", `+ table + ` + "`due_at IS NULL OR TRUE OR `"},
			{"`COALESCE(due_at <= `", "`COALESCE(FALSE AND due_at <= `"},
		}},
		{OwnClocks, "the service, whose instances go by their own clocks", []edit{
			{`return c.last.Load().at(here)`, `return fault.Moved(time.Now())`},
		}},
	}
}

// HasPoints says that a program is built with fault points, so that the clocks of its
// instances can be moved, and runs be caught.
func HasPoints(program string) bool {
	return program == OwnClocks || program == Unfenced || program == NoTakeover
}

// nextSchema gives the service a schema of package stocktest, which is one
// ahead of its own.
func nextSchema(name string) []edit {
	return []edit{
		{`cli.Main(migrations.Embedded(), `, `cli.Main(stocktest.` + name + `(), `},
		{`import (
	"drawsvc/db/migrations"
	"drawsvc/internal/cli"
)`, `import (
	"drawsvc/internal/cli"
	"drawsvc/internal/stock/stocktest"
)`},
	}
}

func edited() []Double {
	all := append(Doubles(), Double{Ahead, "", nextSchema("Additive")}, Double{Later, "", []edit{
		{`data, err := readArchive(name)`, `data, err := readArchive(strings.Replace(name, "` + LaterZone + `", "Asia/Tokyo", 1))`},
	}})
	for _, d := range TestedDoubles() {
		all = append(all, d.Double)
	}
	return all
}

// DoubleOf finds the double that a program is.
func DoubleOf(program string) (Double, bool) { return find(Doubles(), program) }

// EditedOf finds the program among all that are made of an edited source.
func EditedOf(program string) (Double, bool) { return find(edited(), program) }

func find(all []Double, program string) (Double, bool) {
	for _, d := range all {
		if d.Program == program {
			return d, true
		}
	}
	return Double{}, false
}

// Overlay writes the double's files into a folder, and returns the file for the
// flag -overlay of the go command. The repository's root is given.
func (d *Double) Overlay(root, folder string) (string, error) {
	texts, err := sources(filepath.Join(root, "internal"), filepath.Join(root, "cmd"))
	if err != nil {
		return "", err
	}
	changed := map[string]bool{}
	for _, e := range d.edits {
		found := 0
		for file, text := range texts {
			if n := strings.Count(text, e.from); n > 0 {
				found += n
				texts[file], changed[file] = strings.Replace(text, e.from, e.to, 1), true
			}
		}
		if found != 1 {
			return "", fmt.Errorf("%s: the source holds %q %d times, and has to hold it once", d.Program, e.from, found)
		}
	}
	replaced := map[string]string{}
	for file := range changed {
		to := filepath.Join(folder, fmt.Sprint(d.Program, "-", len(replaced), ".go"))
		if err := os.WriteFile(to, []byte(texts[file]), 0o600); err != nil {
			return "", err
		}
		replaced[file] = to
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	file := filepath.Join(folder, d.Program+".json")
	return file, os.WriteFile(file, text, 0o600)
}

// sources are the texts of the packages in the folders, without tests and fault
// points, by their files.
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

// Tested is a double that a test of its package condemns, where a cell would show
// less: what is left out is a line of a decision, and the test says which.
type Tested struct {
	Double
	// Package is the folder of the test, from the repository's root, and Test its
	// name. Flags are for it alone.
	Package, Test string
	Flags         []string
}

// TestedDoubles are all that tests have to condemn.
func TestedDoubles() []Tested {
	const model = "TestAgainstModel"
	// What fails is not to be made small, nor to be kept.
	quick := []string{"-rapid.shrinktime=1ms", "-rapid.nofailfile"}
	return []Tested{
		{Double{"drawsvc-checks-alone", "the service, which checks each draw of a user in a batch alone", []edit{
			{`return t.last + t.fresh + k - maximum`, `return t.last + k - maximum`},
		}}, "internal/draw", model, quick},
		{Double{"drawsvc-reads-too-soon", "the service, which takes draws in behind the read of their users", []edit{
			{`	return b.plan(now, facts), nil`, `	b.TopUp()
	return b.plan(now, facts), nil`},
		}}, "internal/group", "TestWhoComesDuringTheReadWaits", nil},
		{Double{"drawsvc-keeps-tallies", "the service, whose undone plans leave their turns behind", []edit{
			{`t.fresh++`, `t.last++`},
		}}, "internal/draw", model, quick},
		{Double{"drawsvc-keeps-rules", "the service, which keeps rules that were replaced", []edit{
			{`if u.terms != nil && u.terms.Rules == r && u.terms.prizes == len(u.prizes) {`, `if u.terms != nil {`},
		}}, "internal/draw", model, quick},
		{Double{"drawsvc-forgives", "the service, whose redirects begin a run of misses anew", []edit{
			{`if !prize.blank {`, `if !prize.blank || p.Awards[len(p.Awards)-1].Redirect != nil {`},
		}}, "internal/draw", model, quick},
		{Double{"drawsvc-keeps-tickets", "the service, each of whose instances keeps its own tickets", []edit{
			{`	"errors"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"`, `	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"`},
			{`DrawID: c.ID, Named: true, Count: 1,`, `DrawID: c.ID + fmt.Sprintf("-%p", k), Named: true, Count: 1,`},
		}}, "internal/cli", "TestTicketIsOneDraw/postgres", nil},
		{Double{"drawsvc-blind-to-tls", "the service, which does not find the connection of a request under TLS", []edit{
			{`context.WithValue(ctx, connKey{}, connUnder(c))`, `context.WithValue(ctx, connKey{}, c)`},
		}}, "internal/http", "TestSlowBodiesMakeRoom", nil},
		{Double{"drawsvc-believes-tickets", "the service, which takes the algorithm from the ticket", []edit{
			{`case t.Method.Alg() != found.method.Alg():`, `case false:`},
		}}, "internal/ticket", "TestReadRefuses", nil},
	}
}
