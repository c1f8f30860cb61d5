package main

import (
	"fmt"
	"time"

	"drawsvc/internal/lockmode"
)

// clockFaults move the clock of a database server by an hour. The clocks of the
// service and of an SQLite file, which is the service's own, are the machine's
// and are not moved.
func clockFaults() []experiment {
	return []experiment{{
		name: "database's clock an hour ahead, then back", number: 15, clock: clockOfDatabase, run: clockMoved,
		places: []place{
			{"postgres", lockmode.ForUpdate, "", 2}, {"postgres", lockmode.Optimistic, "", 2}, {"postgres", lockmode.External, "table", 2},
			{"mysql", lockmode.ForUpdate, "", 2}, {"mysql", lockmode.Optimistic, "", 2}, {"mysql", lockmode.External, "table", 2},
		},
	}}
}

// clockMoved moves the clock ahead, right again, back, and right again.
func clockMoved(t *trial) error {
	for _, seconds := range []int64{3600, 0, -3600, 0} {
		if err := t.clockMoved.set(fmt.Sprintf("%+ds", seconds)); err != nil {
			return err
		}
		if err := t.clockIsOff(seconds); err != nil {
			return err
		}
		t.ended = time.Now()
		if seconds != 0 {
			t.sleep(1000, 1500)
		}
	}
	return nil
}

// clockIsOff wants the server to tell the time that it was given.
func (t *trial) clockIsOff(seconds int64) error {
	var told int64
	var err error
	if t.clock == clockOfLock {
		var answer string
		if answer, err = redisDo(t.ctx, t.lockServers[0].Addr(), "TIME"); err == nil {
			_, err = fmt.Sscanf(answer, "[%d", &told)
		}
	} else {
		told, err = t.count(t.ctx, map[string]string{
			"postgres": `SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS BIGINT)`, "mysql": `SELECT UNIX_TIMESTAMP()`,
		}[t.kind])
	}
	if err != nil {
		return err
	}
	if off := told - time.Now().Unix() - seconds; off < -60 || off > 60 {
		return fmt.Errorf("the clock is %d s from where it should be", off)
	}
	return nil
}
