package experiments

import (
	"cmp"
	"slices"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// Cells lists what is run, in order, with the controls first.
func Cells(s harness.Selection) []Cell {
	list := append(controls(), everyCell(experiments())...)
	if s.Quick {
		list = quick()
	}
	var chosen []Cell
	for _, c := range list {
		if s.Only.MatchString(c.Name()) {
			chosen = append(chosen, c)
		}
	}
	return chosen
}

// controls are programs that are broken: if they were found in order, no other
// verdict would mean anything. The first over-issues; the second is the service
// without the check of the pool's version in the guarded write.
func controls() []Cell { return slices.Concat(ofDraws(), ofCampaigns(), ofOperations()) }

// ofDraws are the controls of what draws, stock and jobs promise.
func ofDraws() []Cell {
	return []Cell{
		{
			Experiment: sellOut(), place: place{"postgres", "", "", 1}, Program: stage.Textbook,
			Condemned: []string{history.OverIssued, history.UnitTwice},
		},
		{
			Experiment: stockMoved(), place: place{"postgres", "optimistic", "", 2}, Program: stage.Faulty,
			env: []string{"DRAWSVC_UNGUARDED=1"}, Condemned: []string{history.Versions, history.NotLinear, history.UnitTwice},
		},
		{
			Experiment: stockMoved(), place: place{"sqlite", "optimistic", "", 1}, Program: stage.Faulty,
			env: []string{"DRAWSVC_UNGUARDED=1"}, Condemned: []string{history.Versions, history.NotLinear, history.UnitTwice},
		},
		{
			Experiment: hedged(), place: place{"postgres", "optimistic", "", 3}, Program: history.RefusesKnown,
			Condemned: []string{history.KnownRefused},
		},
		{
			Experiment: hedged(), place: place{"postgres", "optimistic", "", 3}, Program: history.KeepsLooks,
			Condemned: []string{history.KnownRefused, history.Fault},
		},
		doubled(heldPrize(), history.PicksAgain, place{"postgres", "for-update", "", 1}),
		{
			Experiment: prizeDeadlocks(), place: place{"postgres", "optimistic", "", 1}, Program: history.PicksAgain,
			Condemned: []string{history.Odds},
		},
		{
			Experiment: rowsPutBack(), place: place{"postgres", "for-update", "", 2}, Program: history.VersionsAlone,
			Condemned: []string{history.UnitTwice, history.Odds},
		},
		doubled(standbyBehind(), history.TrustsStandbys, place{"postgres", "optimistic", "", 3}),
		{
			Experiment: promotedTwice(), place: place{"postgres", "for-update", "", 3}, Program: history.VersionsAlone,
			Condemned: []string{history.UnitTwice, history.Odds},
		},
		{
			Experiment: cancelledWaits(), place: place{"postgres", "for-update", "", 2}, Program: history.Heedless,
			Condemned: []string{history.AcknowledgedLost},
		},
		doubled(crowdedPool(), history.NoTurns, place{"postgres", "optimistic", "", 3}),
		doubled(fileReplaced(), history.TrustsFiles, place{"sqlite", "optimistic", "", 1}),
		doubled(jobFaults()[1], history.Unfenced, place{"postgres", lockmode.ForUpdate, "table", 3}),
		doubled(rollingUpgrade(), history.Excludes, place{"postgres", "for-update", "", 3}),
	}
}

// ofOperations are the controls of what those see who run the service.
func ofOperations() []Cell {
	return []Cell{
		jobFailedOver(history.NoTakeover),
		noDelay("postgres"), noDelay("mysql"), tokenAtOnce(), alertsSilent(), clockFollowed(),
		nginxWithout("http_503", nginxRollout), nginxWithout("max_fails=0", nginxOutage), rulesBlamed(),
		commitmentRestored(false).control("an operator, who restores a committed pool without `pool skip`"),
		{
			Experiment: auditFlood(), place: place{"postgres", lockmode.ForUpdate, "", 3}, Program: history.Unbounded,
			Condemned: []string{history.Fault},
		},
		doubled(floodOfEveryRole(), history.SharesBounds, place{"postgres", lockmode.ForUpdate, "", 1}),
		doubled(diskFull(), history.ReadsOnly, place{"sqlite", lockmode.Optimistic, "", 1}),
		doubled(diskFull(), history.ReadsOnly, place{"postgres", lockmode.ForUpdate, "", 2}),
		{
			Experiment: overloadHeld(), place: place{"mysql", lockmode.ForUpdate, "", 1}, Program: history.FirstCome,
			Condemned: []string{history.Fault},
		},
		{
			Experiment: guessFlood(), place: place{"postgres", lockmode.ForUpdate, "", 3}, Program: history.Guessable,
			Condemned: []string{history.Fault},
		},
	}
}

// experiments is the registry: a further fault is a function and a line.
func experiments() []Experiment {
	return slices.Concat(
		edges(), points(), databaseFaults(), heldPrizes(), restoreFaults(), laggingFaults(), linkFaults(), lockFaults(), clockFaults(), diskFaults(),
		operatorFaults(), galeraFaults(), patroniFaults(), standbyFaults(), clientFaults(), jobFaults(), committedFaults(), campaignFaults(), overloads(),
		nginxFaults(), []Experiment{rulesUnreadable(), floodOfEveryRole()},
	)
}

// everyCell is every experiment at all its places.
func everyCell(list []Experiment) []Cell {
	var all []Cell
	for _, e := range list {
		for _, p := range e.places {
			all = append(all, e.at(p))
		}
	}
	return all
}

// at is the experiment at a place, with the released program unless it needs
// fault points.
func (e Experiment) at(p place) Cell {
	c := Cell{Experiment: e, place: p, Program: cmp.Or(e.tries, stage.Released)}
	if e.points {
		c.Program = stage.Faulty
	}
	return c
}

// quick are the sharpest faults behind their own controls, and behind those of
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

// quickCells are the sharpest faults, each where it hurts most.
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

// FittingTo are the experiments that a soak may use at the place of a scene.
func FittingTo(at stage.Scene) []Experiment {
	return slices.DeleteFunc(experiments(), func(e Experiment) bool {
		return !e.soaks || !slices.ContainsFunc(e.places, func(p place) bool {
			return p.database == at.Database && (p.mode == at.Mode || p.mode == "") && (p.lock == at.Lock || p.lock == "table" || p.lock == "")
		})
	})
}

// SoakCells are a soak at its places, in order: all modes, all databases, and
// in external mode every lock once.
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
