package experiments

import (
	"drawsvc/internal/fault"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
)

// tidbCells returns the cells on one process of TiDB. No package has its program; without
// it, they are shown as skipped.
func tidbCells() (all []Cell) {
	const pair, three = 2, 3
	instances := map[string]int{
		hedged().Name: three, sellOut().Name: three, rollingUpgrade().Name: three,
		"service killed": pair, "service killed before COMMIT": pair, "service killed after COMMIT, before the answer": pair,
		databaseKill().Name: pair, killedAtCommit().Name: pair, "COMMIT cut before it arrives": pair, "answer cut at COMMIT": pair, "link silent for 6 s": pair,
	}
	for _, e := range append(experiments(), killedAtCommit()) {
		for _, p := range at(instances[e.Name], servertest.TiDB) {
			if p.Instances > 0 {
				all = append(all, e.at(p))
			}
		}
	}
	return all
}

// killedAtCommit kills the database while a batch pauses before its COMMIT.
func killedAtCommit() Experiment {
	return Experiment{Name: "database killed before COMMIT", Number: 9, points: true, run: func(t *trial) error {
		i := t.Any()
		t.Must(i.Arm(fault.BeforeCommit, "sleep "+commitPause.String()))
		t.Must(i.AwaitTaken())
		return databaseKilled(t)
	}}
}

// tidbControls returns controls of tidbCells. The edge of a sell-out has no control
// here: two doubles that fail on PostgreSQL passed on TiDB.
func tidbControls() []Cell {
	killed := doubled(serviceKilled(), stage.Faulty, place{servertest.TiDB, lockmode.Optimistic, "", 2}, history.Versions, history.NotLinear, history.UnitTwice)
	killed.env = unguardedEnv()
	return []Cell{
		doubled(killedAtCommit(), history.IgnoresCommits, place{servertest.TiDB, lockmode.ForUpdate, "", 2}, history.AcknowledgedLost),
		killed,
		doubled(rollingUpgrade(), history.Excludes, place{servertest.TiDB, lockmode.ForUpdate, "", 3}),
	}
}
