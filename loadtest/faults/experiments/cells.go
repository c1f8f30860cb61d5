package experiments

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
	words "drawsvc/loadtest/place"
)

// Cells returns the cells to run, in order, with the controls first.
func Cells(s harness.Selection) []Cell {
	list := slices.Concat(controls(), tidbControls(), everyCell(experiments()), tidbCells())
	if s.Quick {
		list = quick()
	}
	return harness.Chosen(s, list, Cell.Name)
}

// controls returns cells of broken programs. If these cells passed, the verdicts on the
// service would be worthless.
func controls() []Cell { return slices.Concat(ofDraws(), ofCampaigns(), ofWins(), ofOperations()) }

// ofDraws returns the controls for the promises about draws, stock and jobs.
func ofDraws() []Cell {
	return []Cell{
		doubled(sellOut(), stage.Textbook, place{"postgres", "", "", 1}, history.OverIssued, history.UnitTwice),
		unguarded(place{"postgres", "optimistic", "", 2}),
		unguarded(place{"sqlite", "optimistic", "", 1}),
		doubled(hedged(), history.RefusesKnown, place{"postgres", "optimistic", "", 3}, history.KnownRefused),
		doubled(hedged(), history.KeepsAnswers, place{"postgres", "optimistic", "", 3}, history.KnownRefused, history.Fault),
		doubled(heldPrize(), history.PicksAgain, place{"postgres", "for-update", "", 1}),
		doubled(prizeDeadlocks(), history.PicksAgain, place{"postgres", "optimistic", "", 1}, history.Odds),
		doubled(rowsPutBack(), history.VersionsOnly, place{"postgres", "for-update", "", 2}, history.UnitTwice, history.Odds),
		doubled(standbyBehind(), history.TrustsStandbys, place{"postgres", "optimistic", "", 3}),
		doubled(promotedTwice(), history.VersionsOnly, place{"postgres", "for-update", "", 3}, history.UnitTwice, history.Odds),
		doubled(cancelledWaits(), history.Heedless, place{"postgres", "for-update", "", 2}, history.AcknowledgedLost),
		doubled(crowdedPool(), history.NoTurns, place{"postgres", "optimistic", "", 3}),
		doubled(fileReplaced(), history.TrustsFiles, place{"sqlite", "optimistic", "", 1}),
		doubled(jobFaults()[1], history.Unfenced, place{"postgres", lockmode.ForUpdate, "table", 3}),
		doubled(rollingUpgrade(), history.Excludes, place{"postgres", "for-update", "", 3}),
	}
}

// ofOperations returns the controls for the outputs that operators of the service see.
func ofOperations() []Cell {
	return []Cell{
		jobFailedOver(history.NoTakeover),
		noDelay("postgres"), noDelay("mysql"), tokenAtOnce(), alertsSilent(), clockFollowed(),
		nginxWithout("http_503", nginxRollout), nginxWithout("max_fails=0", nginxOutage), rulesBlamed(),
		commitmentRestored(false).control("an operator, who restores a committed pool without `pool skip`"),
		doubled(auditFlood(), history.Unbounded, place{"postgres", lockmode.ForUpdate, "", 3}),
		doubled(floodOfEveryRole(), history.SharesBounds, place{"postgres", lockmode.ForUpdate, "", 1}),
		doubled(diskFull(), history.ReadsOnly, place{"sqlite", lockmode.Optimistic, "", 1}),
		doubled(diskFull(), history.ReadsOnly, place{"postgres", lockmode.ForUpdate, "", 2}),
		doubled(overloadHeld(), history.FirstCome, place{"mysql", lockmode.ForUpdate, "", 1}),
		doubled(guessFlood(), history.Guessable, place{"postgres", lockmode.ForUpdate, "", 3}),
	}
}

// experiments returns the registry: to add a fault, write a function and add a line.
func experiments() []Experiment {
	return slices.Concat(
		edges(), points(), databaseFaults(), heldPrizes(), restoreFaults(), laggingFaults(), linkFaults(), lockFaults(), clockFaults(), diskFaults(),
		operatorFaults(), galeraFaults(), patroniFaults(), standbyFaults(), clientFaults(), jobFaults(), committedFaults(), campaignFaults(), overloads(),
		nginxFaults(), winFaults(), []Experiment{rulesUnreadable(), floodOfEveryRole()},
	)
}

// everyCell returns every experiment at all its places.
func everyCell(list []Experiment) []Cell {
	var all []Cell
	for _, e := range list {
		for _, p := range e.places {
			all = append(all, e.at(p))
		}
	}
	return all
}

// at returns the cell of the experiment at a place, with the released program unless it
// needs fault points.
func (e Experiment) at(p place) Cell {
	c := Cell{Experiment: e, place: p, Program: cmp.Or(e.tries, stage.Released)}
	if e.points {
		c.Program = stage.Faulty
	}
	return c
}

// quick returns the most severe faults, after their own controls and the controls of
// the judgement itself.
func quick() []Cell {
	sharpest := quickCells()
	chosen := map[string]bool{}
	for _, c := range sharpest {
		chosen[c.Experiment.Name] = true
	}
	theirs := slices.DeleteFunc(controls(), func(c Cell) bool {
		_, ok := history.DoubleOf(c.Program)
		return (ok || c.Flaw != "") && !chosen[c.Experiment.Name]
	})
	return append(theirs, sharpest...)
}

// quickCells returns the most severe faults, each at the place where it does the most
// harm.
func quickCells() []Cell {
	const sqlite, postgres = "sqlite", "postgres"
	forUpdate, optimistic, external := lockmode.ForUpdate, lockmode.Optimistic, lockmode.External
	sharpest := []struct {
		name   string
		places []place
	}{
		{"500 clients, one unit", []place{{sqlite, forUpdate, "", 1}, {postgres, optimistic, "", 3}}},
		{"one key 200 times at once, then another user", []place{{sqlite, external, "table", 1}, {postgres, forUpdate, "", 3}}},
		{"each key to two instances at once, at the edge of a sell-out", []place{{sqlite, optimistic, "", 1}, {postgres, optimistic, "", 3}}},
		{"service killed before COMMIT", []place{{sqlite, optimistic, "", 1}, {postgres, external, "table", 2}}},
		{"service killed after COMMIT, before the answer", []place{{sqlite, forUpdate, "", 1}, {postgres, optimistic, "", 2}}},
		{"panic before COMMIT", []place{{sqlite, external, "table", 1}, {postgres, forUpdate, "", 2}}},
		{"service stopped for 3 s before the write", []place{{postgres, external, "table", 2}}},
		{"SIGTERM under load", []place{{sqlite, forUpdate, "", 1}, {postgres, forUpdate, "", 2}}},
		{"database killed", []place{{postgres, optimistic, "", 2}}},
		{"answer cut at COMMIT", []place{{postgres, forUpdate, "", 2}}},
		{"campaign, service killed at every point", []place{{postgres, optimistic, "", 3}}},
		{"mode switched under load", []place{{sqlite, forUpdate, "", 1}, {postgres, forUpdate, "", 2}}},
		{"committed awards, killed and changed", []place{{postgres, forUpdate, "", 3}}},
	}
	byName := map[string]Experiment{}
	for _, e := range experiments() {
		byName[e.Name] = e
	}
	var all []Cell
	for _, sharp := range sharpest {
		for _, p := range sharp.places {
			all = append(all, byName[sharp.name].at(p))
		}
	}
	return all
}

// FittingTo returns the experiments that a soak may use at the place of a scene.
func FittingTo(at stage.Scene) []Experiment {
	return slices.DeleteFunc(experiments(), func(e Experiment) bool {
		return !e.soaks || !slices.ContainsFunc(e.places, func(p place) bool {
			return p.Database == at.Database && (p.Mode == at.Mode || p.Mode == "") && (p.Lock == at.Lock || p.Lock == "table" || p.Lock == "")
		})
	})
}

// SoakCells returns the places of a soak, in order: all modes and databases, and each
// lock once in external mode.
func SoakCells() []Cell {
	places := []place{
		{"postgres", "for-update", "", 3}, {"mysql", "optimistic", "", 3}, {"postgres", "external", "redis×3", 3},
		{"sqlite", "for-update", "", 1}, {"mysql", "for-update", "", 3}, {"postgres", "optimistic", "", 3},
		{"mysql", "external", "table", 3}, {"sqlite", "optimistic", "", 1}, {"postgres", "external", "zookeeper", 3},
		{"postgres", "external", "session", 3}, {"mysql", "external", "etcd", 3}, {"sqlite", "external", "table", 1},
		{"postgres", "external", "row", 3}, {"mysql", "external", "redis", 3},
	}
	all := make([]Cell, len(places))
	for n, p := range places {
		all[n] = Experiment{Name: "soak", points: true, links: true}.at(p)
	}
	return all
}

// place is where an experiment is run.
type place words.Place

// Experiment is one fault, or a few of one kind, and where it is run.
type Experiment struct {
	Name string
	// Number is the experiment's number in the list of faults that the service must
	// survive, 0 if the list does not have it.
	Number int
	// places are where the experiment is run; nil means everywhere.
	places []place
	// points means that the program needs fault points.
	points bool
	// links means that every connection to the database goes through a proxy.
	links bool
	// Internal allows answers 500 with an unknown outcome.
	Internal bool
	// codes are further codes of answers 503 that the experiment causes.
	codes []string
	// flags are added to the program's own.
	flags []string
	// timeout is the service's timeout of a request; 0 is the usual one.
	timeout time.Duration
	// clock names the owner of the clock that the experiment moves, "" for none.
	clock string
	// tries is the program under test; "" is the released one.
	tries string
	// begins is the program that the instances start with; "" is the one under test.
	begins string
	// sealKeys are the first seal keys of each instance, "" for none.
	sealKeys string
	// jobs are the jobs that the fault is about. If there are any, the instances fetch
	// a catalogue, and use the cell's lock for jobs.
	jobs []string
	// own means that run makes its own load; otherwise run has load from the start, and
	// returns when the fault has ended.
	own bool
	// soaks means that a soak may use the experiment.
	soaks bool
	// Longest is the maximum time of a cell; 0 is the usual one.
	Longest time.Duration
	// loses means that acknowledged changes must be lost, and no other rule broken.
	loses bool
	// base creates the cell's database in a special way; nil is the usual way.
	base func(g *stage.Ground, s *harness.Site, kind string) *stage.Base
	run  func(t *trial) error
}

// trial is a trial on which the experiments cause their faults.
type trial struct{ *client.Trial }

// Make causes the fault, on a trial that is under load.
func (e Experiment) Make(t *client.Trial) error {
	return harness.Caught(func() error { return e.run(&trial{t}) })
}

// control returns a cell at the experiment's first place, with an intact program and a
// flaw in the experiment, which the experiment itself must report.
func (e Experiment) control(flaw string) Cell {
	c := e.at(e.places[0])
	c.Flaw, c.Condemned = flaw, []string{history.Fault}
	return c
}

// doubled returns a cell of a broken program, which must break one of the given rules.
// Without rules, the experiment itself must report the flaw.
func doubled(e Experiment, program string, p place, rules ...string) Cell {
	if len(rules) == 0 {
		rules = []string{history.Fault}
	}
	return Cell{Experiment: e, place: p, Program: program, Condemned: rules}
}

// unguarded returns a cell of the service without the check of the version in its
// write.
func unguarded(p place) Cell {
	c := doubled(stockMoved(), stage.Faulty, p, history.Versions, history.NotLinear, history.UnitTwice)
	c.env = unguardedEnv()
	return c
}

// unguardedEnv makes a service with fault points write without the check of the version.
func unguardedEnv() []string { return []string{"DRAWSVC_UNGUARDED=1"} }

// Cell is one experiment at one place.
type Cell struct {
	Experiment
	place
	// Program is the program under test.
	Program string
	env     []string
	// Condemned are rules; a broken program must break at least one of them. For an
	// intact program it is nil.
	Condemned []string
	// Flaw describes what is wrong with a control whose program is intact, such as its
	// flags.
	Flaw string
}

// Scene returns the needs of the cell on the stage.
func (c Cell) Scene() stage.Scene {
	return stage.Scene{
		Place: words.Place(c.place), Program: c.Program, Begins: c.begins, Flags: c.flags, Env: c.env, Linked: c.links,
		Timeout: c.timeout, SealKeys: c.sealKeys, Clock: c.clock, Points: c.Program == stage.Faulty || history.HasPoints(c.Program), Jobs: c.jobs != nil, NewBase: c.base,
	}
}

// Expected returns the effects that the cell itself causes.
func (c Cell) Expected() client.Expected {
	codes := c.codes
	if c.clock == stage.ClockOfDatabase {
		codes = append(slices.Clone(codes), "clock-leapt")
	}
	return client.Expected{Internal: c.Internal, Codes: codes, Condemned: c.Condemned != nil, Loses: c.loses}
}

// Show causes the fault, under load unless the experiment makes its own load.
func (c Cell) Show(t *client.Trial) error {
	if c.own {
		return c.Make(t)
	}
	return t.UnderLoad(func() error { return c.Make(t) })
}

// Jobs returns the jobs that the cell is about.
func (c Cell) Jobs() []string { return c.jobs }

// Name returns the cell's unique name.
func (c Cell) Name() string {
	parts := []string{c.Experiment.Name, words.Place(c.place).Name()}
	if _, ok := history.DoubleOf(c.Program); ok {
		parts = append([]string{c.Program}, parts...)
	}
	if c.Condemned != nil {
		parts = append([]string{"CONTROL"}, parts...)
	}
	return strings.Join(parts, " ")
}

// SeedOf returns the seed of one run of one cell, so that it can be replayed without
// earlier runs.
func SeedOf(seed uint64, name string, run int) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, seed, name, run) // never fails
	return h.Sum64()
}

// everywhere returns every mode on every database: a file has one instance, a server
// the given number.
func everywhere(instances int) []place {
	return at(instances, "sqlite", "postgres", "mysql")
}

// at returns every mode on the given databases.
func at(instances int, databases ...string) (all []place) {
	for _, p := range words.At(instances, databases...) {
		all = append(all, place(p))
	}
	return all
}

// servers returns every mode on both servers, with two instances.
func servers() []place { return at(2, "postgres", "mysql") }
