package experiments

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/report"
)

// heldPrizes are the faults of a prize whose row another session locks. Which unit is
// picked must not depend on whether it can be written.
func heldPrizes() []Experiment {
	return []Experiment{
		heldPrize(),
		{Name: "one prize's row held, three instances", Number: 12, places: at(3, "postgres", "mysql"), timeout: heldTimeout, run: heldAmongThree},
		prizeDeadlocks(),
	}
}

func heldPrize() Experiment {
	return Experiment{Name: "one prize's row held by another session", Number: 12, places: at(1, "postgres", "mysql"), timeout: heldTimeout, run: heldAlone}
}

const (
	// heldTimeout leaves a draw enough time to join an attempt, to wait for a row as
	// long as MariaDB does, and to be looked up.
	heldTimeout = 3 * time.Second
	// heldPools is the number of pools that have a prize's row held at the same time,
	// and heldRounds is how often that is done.
	heldPools  = 4
	heldRounds = 3
	// heldFirst is the minimum number of draws of a pool in each round: the stuck draw,
	// and some after it.
	heldFirst = 4
	// stuckMax is a number of draws in a row. If a prize has a quarter of the units, it
	// is practically impossible that none of these draws picks it.
	stuckMax = 40
)

// held is a pool; a session holds the row of the prize with most of its units.
type held struct {
	t     *trial
	pool  string
	conn  *sql.Conn
	known history.Op
}

// hold creates the pools, and runs fn for each of them at once.
func (t *trial) hold(pools int, stock []int64, fn func(h *held) error) (names []string) {
	failed := make([]error, pools)
	all := make([]*held, pools)
	for n := range pools {
		h := &held{t: t, pool: t.Pool(fmt.Sprint("held-", n))}
		t.Must(t.MakePool(h.pool, stock...))
		conn, leave := t.otherSession()
		defer leave()
		h.conn = conn
		h.known = h.draw(0)
		all[n], names = h, append(names, h.pool)
	}
	client.Parallel(pools, func(n int) { failed[n] = fn(all[n]) })
	t.Must(errors.Join(failed...))
	return names
}

// lock makes the session hold the row of the first prize.
func (h *held) lock() error {
	return h.t.say(h.conn, "BEGIN", `SELECT stocked FROM prizes WHERE pool_id = '`+h.pool+`' AND id = '`+stage.PrizeNames()[0]+`' FOR UPDATE`)
}

func (h *held) unlock() error { return h.t.say(h.conn, "ROLLBACK") }

func (h *held) draw(instance int) history.Op {
	o := h.t.asking(h.pool, 1)[0]
	o.Client, o.Instance = 6000+instance, instance
	return h.t.Send(h.t.Ctx, o)
}

// want reports a violation if an answer is not the expected one.
func (h *held) want(o history.Op, answer string) {
	if o.Answer() != answer {
		h.t.Verdict.Say(history.Fault, "must be %s: %s", answer, &o)
	}
}

// wantBusy judges the answer to a draw that cannot be written. It must state that the
// pool is busy, or that the outcome is unknown.
func (h *held) wantBusy(o history.Op) {
	if o.Answer() != "contended" && o.Answer() != "outcome-unknown" {
		h.t.Verdict.Say(history.Fault, "under a row that is held: %s", &o)
	}
}

// heldAlone locks the row of a prize until a draw picks a unit of it. The pool then stops
// at that draw; replays and other pools continue. When the row is free, the same unit
// must be drawn first.
func heldAlone(t *trial) error {
	from := t.History.Now()
	pools := t.hold(heldPools, []int64{3000, 1000}, func(h *held) error {
		for range heldRounds {
			if err := h.round(); err != nil {
				return err
			}
		}
		return nil
	})
	t.othersGoOn(from, t.History.Now())
	return t.judgeOdds(pools, heldRounds*heldFirst)
}

// round locks the row once, in a pool from which one instance draws in sequence.
func (h *held) round() error {
	if err := h.lock(); err != nil {
		return err
	}
	stuck := false
	for n := 0; n < stuckMax && !stuck; n++ {
		o := h.draw(0)
		if stuck = !o.Won(); stuck {
			h.wantBusy(o)
		}
	}
	if !stuck {
		h.t.Verdict.Say(history.Fault, "pool %s: %d draws went past the prize whose row is held", h.pool, stuckMax)
	}
	h.wantBusy(h.draw(0))
	h.known.Client = 7000
	h.want(h.t.Send(h.t.Ctx, h.known), "replayed")
	if err := h.unlock(); err != nil {
		return err
	}
	first := h.draw(0)
	h.want(first, "won")
	if first.Won() && first.Awards[0].Prize != stage.PrizeNames()[0] {
		h.t.Verdict.Say(history.Fault, "another prize was picked when the row was free: %s %+v", &first, first.Awards)
	}
	for range heldFirst - 1 {
		h.want(h.draw(0), "won")
	}
	return nil
}

// othersGoOn demands that pools whose rows are free are drawn from all the time.
func (t *trial) othersGoOn(from, to time.Duration) {
	drawn, longest := 0, time.Duration(0)
	for _, o := range t.History.Ops() {
		small := false
		for _, p := range t.Small {
			small = small || p.Name == o.Pool
		}
		if o.Call < from || o.Return > to || o.Kind != history.Draw || !small && o.Pool != t.Pool(client.MainPool) {
			continue
		}
		if !o.Won() && !o.Refused() {
			t.Verdict.Say(history.Fault, "on a pool whose rows are free: %s", &o)
		}
		drawn++
		longest = max(longest, o.Return-o.Call)
	}
	t.Note("%d draws on pools whose rows are free, the slowest %.0f ms", drawn, report.Milliseconds(longest))
}

const (
	// heldFor is how long a row is held from three instances: long enough for each of
	// them to pick that prize at the same version.
	heldFor = 8 * time.Second
	// deadlockDraws is how many awards of a pool are judged.
	deadlockDraws = 150
	// deadlocksMin is the minimum number of deadlocks in all pools together.
	deadlocksMin = 20
)

// heldAmongThree measures the awards that are still drawn with three instances: each
// uses different random numbers, so that the pool stops only when all of them have
// picked the held prize.
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

// besides counts the awards that a pool gets while the row of its first prize is locked.
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

// deadlocksOnPrize makes a session lock a prize's row and then the pool's, in the
// opposite order of the service. The service is the victim each time.
func deadlocksOnPrize(t *trial) error {
	if t.Kind == "mysql" { // there the victim is the session that has written less
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

// collide causes deadlocks until done is closed.
func (h *held) collide(done <-chan struct{}) error {
	first := `SET LOCAL deadlock_timeout = '60s'` // so that the service notices the deadlock first, and is the victim
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
