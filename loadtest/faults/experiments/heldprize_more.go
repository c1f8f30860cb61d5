package experiments

import (
	"strings"
	"sync/atomic"
	"time"

	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
)

const (
	// heldFor is how long a row is held from three instances: time enough for
	// each of them to come to that prize at the same version.
	heldFor = 8 * time.Second
	// deadlockDraws is how many awards of a pool are judged.
	deadlockDraws = 150
	// deadlocksMin is the least that has to happen in all pools together.
	deadlocksMin = 20
)

// heldAmongThree measures what remains where three instances draw: each has
// numbers of its own, so that the pool stops only where all of them have come to
// the held prize.
func heldAmongThree(t *trial) error {
	var past, holds atomic.Int64
	from := t.History.Now()
	t.hold(2, []int64{2000, 2000}, func(h *held) error {
		for range 2 {
			n, err := h.besides()
			if err != nil {
				return err
			}
			past.Add(n)
			holds.Add(1)
		}
		return nil
	})
	t.othersGoOn(from, t.History.Now())
	t.Note("%d holds of %v of a prize that half of the units are: %.1f draws each went past it, 1 is fair", holds.Load(), heldFor,
		float64(past.Load())/float64(holds.Load()))
	return nil
}

// besides counts the awards of a pool while the row of its first prize is held.
func (h *held) besides() (int64, error) {
	awards := `SELECT count(*) FROM awards WHERE pool_id = '` + h.pool + `'`
	if err := h.lock(); err != nil {
		return 0, err
	}
	before, err := h.t.Count(h.t.Ctx, awards)
	if err != nil {
		return 0, err
	}
	until := time.Now().Add(heldFor)
	client.Parallel(len(h.t.Instances), func(n int) {
		for time.Now().Before(until) {
			if o := h.draw(n); !o.Won() {
				h.wantBusy(o)
			}
		}
	})
	after, err := h.t.Count(h.t.Ctx, awards)
	if err != nil {
		return 0, err
	}
	if err := h.unlock(); err != nil {
		return 0, err
	}
	for n := range h.t.Instances {
		h.want(h.draw(n), "won")
	}
	return after - before, nil
}

func prizeDeadlocks() Experiment {
	return Experiment{Name: "deadlocks forced on one prize", Number: 13, places: at(1, "postgres", "mysql"), run: deadlocksOnPrize}
}

// deadlocksOnPrize has a session take a prize's row and then the pool's, against
// the order of the service, which is the victim each time.
func deadlocksOnPrize(t *trial) error {
	if t.Kind == "mysql" { // whose victim is the one that has written less
		t.Must(stage.ExecAll(t.Base.Admin, `CREATE TABLE ballast (n int)`))
	}
	before := t.conflicts()
	pools := t.hold(heldPools, []int64{3000, 1000}, func(h *held) error {
		done := make(chan struct{})
		ended := make(chan error, 1)
		go func() { ended <- h.collide(done) }()
		for drawn := 0; drawn < deadlockDraws && h.t.Ctx.Err() == nil; {
			if o := h.draw(0); o.Won() {
				drawn++
			} else {
				h.wantBusy(o)
			}
		}
		close(done)
		return <-ended
	})
	deadlocks := t.conflicts() - before
	if t.Note("%.0f deadlocks", deadlocks); deadlocks < deadlocksMin {
		t.Verdict.Say(history.Fault, "there were only %.0f deadlocks", deadlocks)
	}
	return t.judgeOdds(pools, deadlockDraws)
}

// collide makes deadlocks until done is closed.
func (h *held) collide(done <-chan struct{}) error {
	first := `SET LOCAL deadlock_timeout = '60s'` // the service notices sooner
	if h.t.Kind == "mysql" {
		first = `INSERT INTO ballast SELECT seq FROM seq_1_to_1000`
	}
	lockPool := strings.ReplaceAll(h.t.lockPool()[1], "'"+h.t.Pool(client.MainPool)+"'", "'"+h.pool+"'")
	for {
		select {
		case <-done:
			return nil
		default:
		}
		if err := h.lock(); err != nil {
			return err
		}
		if err := h.t.say(h.conn, first); err != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
		if err := h.t.say(h.conn, lockPool, "ROLLBACK"); err != nil {
			return err
		}
		time.Sleep(2 * time.Millisecond)
	}
}
