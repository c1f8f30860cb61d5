package experiments

import (
	"fmt"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/stage"
)

// clockFaults move the clock of a database server by an hour. Campaigns move it
// further, and that of an SQLite file, which is the service's own, as well.
func clockFaults() []Experiment {
	return []Experiment{clockLeap(), {
		Name: "database's clock an hour ahead, then back", Number: 15, clock: stage.ClockOfDatabase, run: clockMoved,
		places: []place{
			{"postgres", lockmode.ForUpdate, "", 2}, {"postgres", lockmode.Optimistic, "", 2}, {"postgres", lockmode.External, "table", 2},
			{"mysql", lockmode.ForUpdate, "", 2}, {"mysql", lockmode.Optimistic, "", 2}, {"mysql", lockmode.External, "table", 2},
		},
	}}
}

// clockMoved moves the clock ahead, right again, back, and right again.
func clockMoved(t *trial) error {
	for _, seconds := range []int64{3600, 0, -3600, 0} {
		t.setClock(seconds)
		t.Ended = time.Now()
		if seconds != 0 {
			t.Sleep(1000, 1500)
		}
	}
	return nil
}

// setClock moves the clock to so many seconds from the machine's.
func (t *trial) setClock(seconds int64) {
	t.Must(t.ClockMoved.Set(fmt.Sprintf("%+ds", seconds)))
	t.Must(t.clockIsOff(seconds))
}

// clockIsOff wants the server to tell the time that it was given.
func (t *trial) clockIsOff(seconds int64) error {
	var shown int64
	var err error
	if t.Clock == stage.ClockOfLock {
		var answer string
		if answer, err = stage.RedisDo(t.Ctx, t.LockServers[0].Addr(), "TIME"); err == nil {
			_, err = fmt.Sscanf(answer, "[%d", &shown)
		}
	} else {
		shown, err = t.Count(t.Ctx, map[string]string{
			"postgres": `SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS BIGINT)`, "mysql": `SELECT UNIX_TIMESTAMP()`,
		}[t.Kind])
	}
	if err != nil {
		return err
	}
	if off := shown - time.Now().Unix() - seconds; off < -60 || off > 60 {
		return fmt.Errorf("the clock is %d s from where it should be", off)
	}
	return nil
}
