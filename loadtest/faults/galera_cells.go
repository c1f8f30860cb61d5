package main

import (
	"drawsvc/internal/lockmode"
)

// galeraFaults are those of MariaDB with Galera: three nodes, and three
// instances that each begin with a node of their own.
func galeraFaults() []experiment {
	list := append(edges(), []experiment{
		{name: "three nodes written at once", places: append(at(galeraNodes, "mysql"), nodeLocks()...), run: written},
		{name: "one node written by all", base: oneWriter, run: written},
		{name: "node killed", run: nodeKilled},
		{name: "node cut off", run: nodeCutOff},
		{name: "asked elsewhere at once", own: true, run: askedElsewhere},
		{name: "pool paused and opened under load", run: poolPaused},
		{name: "cluster made anew from a node that was behind", base: ownCluster, loses: true, run: fromBehind},
	}...)
	for i := range list {
		e := &list[i]
		if e.base == nil {
			e.base = everyWriter
		}
		if e.places == nil || e.number != 0 { // those of edges are for databases of one node
			e.places = at(galeraNodes, "mysql")
		}
		e.name, e.number, e.soaks = "Galera: "+e.name, 0, false // the soak has the databases of one node
	}
	return list
}

// nodeLocks are locks that keep apart only those who ask the same node: the
// write has to decide between the others.
func nodeLocks() []place {
	var all []place
	for _, lock := range []string{"row", "session"} {
		all = append(all, place{"mysql", lockmode.External, lock, galeraNodes})
	}
	return all
}
