package experiments

import (
	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/stage"
)

// galeraFaults are those of MariaDB with Galera: three nodes, and three
// instances that each begin with a node of their own.
func galeraFaults() []Experiment {
	list := append(edges(), []Experiment{
		{Name: "three nodes written at once", places: append(at(stage.GaleraNodes, "mysql"), nodeLocks()...), run: written},
		{Name: "one node written by all", base: stage.OneWriter, run: written},
		{Name: "node killed", run: nodeKilled},
		{Name: "node cut off", run: nodeCutOff},
		{Name: "asked elsewhere at once", own: true, run: askedElsewhere},
		{Name: "pool paused and opened under load", run: poolPaused},
		{Name: "cluster made anew from a node that was behind", base: stage.OwnCluster, loses: true, run: fromBehind},
	}...)
	for i := range list {
		e := &list[i]
		if e.base == nil {
			e.base = stage.EveryWriter
		}
		if e.places == nil || e.Number != 0 { // those of edges are for databases of one node
			e.places = at(stage.GaleraNodes, "mysql")
		}
		e.Name, e.Number, e.soaks = "Galera: "+e.Name, 0, false // the soak has the databases of one node
	}
	return list
}

// nodeLocks are locks that keep apart only those who ask the same node: the
// write has to decide between the others.
func nodeLocks() []place {
	var all []place
	for _, lock := range []string{"row", "session"} {
		all = append(all, place{"mysql", lockmode.External, lock, stage.GaleraNodes})
	}
	return all
}
