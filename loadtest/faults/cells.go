package main

import (
	"slices"

	"drawsvc/loadtest/faults/history"
)

// cells lists what is run, in order, with the controls first.
func cells(s settings) []cell {
	list := append(controls(), everyCell(experiments())...)
	if s.quick {
		list = append(controls(), quickCells()...)
	}
	var chosen []cell
	for _, c := range list {
		if s.only.MatchString(c.name()) {
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
	}
}

// experiments is the registry: a further fault is a function and a line.
func experiments() []experiment {
	return slices.Concat(edges(), points(), databaseFaults(), linkFaults(), lockFaults(), clockFaults(), diskFaults(), operatorFaults(), clientFaults())
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
	c := cell{experiment: e, place: p, program: released}
	if e.points {
		c.program = faulty
	}
	return c
}

func quickCells() []cell { return nil }
