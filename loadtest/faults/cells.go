package main

import (
	"cmp"
	"slices"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/history"
)

// cells lists what is run, in order, with the controls first.
func cells(s settings) []cell {
	list := append(controls(), everyCell(experiments())...)
	if s.Quick {
		list = quick()
	}
	var chosen []cell
	for _, c := range list {
		if s.Only.MatchString(c.name()) {
			chosen = append(chosen, c)
		}
	}
	return chosen
}

// controls are programs that are broken: if they were found in order, no other
// verdict would mean anything. The first over-issues; the second is the service
// without the check of the pool's version in the guarded write.
func controls() []cell {
	return []cell{
		{
			experiment: sellOut(), place: place{"postgres", "", "", 1}, program: textbook,
			condemned: []string{history.OverIssued, history.UnitTwice},
		},
		{
			experiment: stockMoved(), place: place{"postgres", "optimistic", "", 2}, program: faulty,
			env: []string{"DRAWSVC_UNGUARDED=1"}, condemned: []string{history.Versions, history.NotLinear, history.UnitTwice},
		},
		{
			experiment: stockMoved(), place: place{"sqlite", "optimistic", "", 1}, program: faulty,
			env: []string{"DRAWSVC_UNGUARDED=1"}, condemned: []string{history.Versions, history.NotLinear, history.UnitTwice},
		},
		{
			experiment: hedged(), place: place{"postgres", "optimistic", "", 3}, program: refusesKnown,
			condemned: []string{history.KnownRefused},
		},
		{
			experiment: hedged(), place: place{"postgres", "optimistic", "", 3}, program: keepsLooks,
			condemned: []string{history.KnownRefused, history.Fault},
		},
		{
			experiment: heldPrize(), place: place{"postgres", "for-update", "", 1}, program: picksAgain,
			condemned: []string{history.Fault},
		},
		{
			experiment: prizeDeadlocks(), place: place{"postgres", "optimistic", "", 1}, program: picksAgain,
			condemned: []string{history.Odds},
		},
		{
			experiment: rowsPutBack(), place: place{"postgres", "for-update", "", 2}, program: versionsAlone,
			condemned: []string{history.UnitTwice, history.Odds},
		},
		{
			experiment: standbyBehind(), place: place{"postgres", "optimistic", "", 3}, program: trustsStandbys,
			condemned: []string{history.Fault},
		},
		{
			experiment: promotedTwice(), place: place{"postgres", "for-update", "", 3}, program: versionsAlone,
			condemned: []string{history.UnitTwice, history.Odds},
		},
		{
			experiment: cancelledWaits(), place: place{"postgres", "for-update", "", 2}, program: heedless,
			condemned: []string{history.AcknowledgedLost},
		},
		{
			experiment: crowdedPool(), place: place{"postgres", "optimistic", "", 3}, program: noTurns,
			condemned: []string{history.Fault},
		},
		{
			experiment: fileReplaced(), place: place{"sqlite", "optimistic", "", 1}, program: trustsFiles,
			condemned: []string{history.Fault},
		},
		{
			experiment: jobFaults()[1], place: place{"postgres", lockmode.ForUpdate, "table", 3}, program: unfenced,
			condemned: []string{history.Fault},
		},
		{
			experiment: rollingUpgrade(), place: place{"postgres", "for-update", "", 3}, program: excludes,
			condemned: []string{history.Fault},
		},
	}
}

// experiments is the registry: a further fault is a function and a line.
func experiments() []experiment {
	return slices.Concat(edges(), points(), databaseFaults(), heldPrizes(), restoreFaults(), laggingFaults(), linkFaults(), lockFaults(), clockFaults(), diskFaults(), operatorFaults(), galeraFaults(), patroniFaults(), standbyFaults(), clientFaults(), jobFaults())
}

// everyCell is every experiment at all its places.
func everyCell(list []experiment) []cell {
	var all []cell
	for _, e := range list {
		for _, p := range e.places {
			all = append(all, e.at(p))
		}
	}
	return all
}

// at is the experiment at a place, with the released program unless it needs
// fault points.
func (e experiment) at(p place) cell {
	c := cell{experiment: e, place: p, program: cmp.Or(e.tries, released)}
	if e.points {
		c.program = faulty
	}
	return c
}

// quick are the sharpest faults behind their own controls, and behind those of
// the judgement itself.
func quick() []cell {
	sharpest := quickCells()
	chosen := map[string]bool{}
	for _, c := range sharpest {
		chosen[c.experiment.name] = true
	}
	theirs := slices.DeleteFunc(controls(), func(c cell) bool {
		_, ok := doubleOf(c.program)
		return ok && !chosen[c.experiment.name]
	})
	return append(theirs, sharpest...)
}

// quickCells are the sharpest faults, each where it hurts most.
func quickCells() []cell {
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
		{"mode switched under load", []place{{sqlite, forUpdate, "", 1}, {postgres, forUpdate, "", 2}}},
	}
	byName := map[string]experiment{}
	for _, e := range experiments() {
		byName[e.name] = e
	}
	var all []cell
	for _, sharp := range sharpest {
		for _, p := range sharp.places {
			all = append(all, byName[sharp.name].at(p))
		}
	}
	return all
}

// fittingTo are the experiments that a soak may use at a place.
func fittingTo(at place) []experiment {
	return slices.DeleteFunc(experiments(), func(e experiment) bool {
		return !e.soaks || !slices.ContainsFunc(e.places, func(p place) bool {
			return p.database == at.database && (p.mode == at.mode || p.mode == "") && (p.lock == at.lock || p.lock == "table" || p.lock == "")
		})
	})
}
