package main

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/harness"
)

// judge ends all doubts, looks for what is left over, and holds the answers
// against the rows.
func (t *Trial) judge() error {
	t.settle()
	t.leftovers()
	return t.check()
}

// leftovers looks for what the trial left behind, in the instances and in the
// database.
func (t *Trial) leftovers() {
	t.client.CloseIdleConnections()
	for _, look := range []func() string{t.leftInInstances, t.leftInDatabase, t.leftLocks, t.leftInLockService} {
		if said := within(t.ctx, leftoverMax+lockTTL, look); said != "" {
			t.verdict.Say(history.LeftOver, "%s", said)
		}
	}
}

// check holds everything that was answered against the rows.
func (t *Trial) check() error {
	ops := t.history.Ops()
	terms := history.Terms{
		Deadline: t.limit() + grace + time.Duration(t.lag.Load()), Internal: t.internal, Settled: t.settled,
		Plenty: map[string]bool{t.pool(mainPool): true},
		Excused: func(instance int, from, to time.Duration) bool {
			return t.instances[instance].halted(t.history.Time(from), t.history.Time(to))
		},
	}
	history.Answers(&t.verdict, ops, terms)
	for pool := range t.made {
		rows, err := t.rows(pool)
		if err != nil {
			return err
		}
		history.Match(&t.verdict, ops, rows, terms)
		history.Laws(&t.verdict, rows)
		t.checkNodes(rows)
		if t.program != textbook {
			t.checkAudit(rows)
		}
	}
	for _, p := range t.small {
		t.checkLinear(ops, p.name)
	}
	t.lose()
	return nil
}

// rows reads a pool's rows. A connection that died unseen is not the answer.
func (t *Trial) rows(pool string) (rows history.Rows, err error) {
	for range 3 {
		if rows, err = history.Read(t.ctx, t.base.admin, pool, t.numbered(), t.program == textbook); err == nil {
			break
		}
	}
	return rows, err
}

func (t *Trial) checkLinear(ops []history.Op, pool string) {
	most := linearMax
	if t.condemned {
		most = 200 * time.Millisecond // it does not deserve more
	}
	version := int64(len(t.made[pool]))
	if t.program != textbook {
		version++ // the change that made it
	}
	switch history.Linear(ops, pool, t.made[pool], version, most) {
	case porcupine.Illegal:
		t.verdict.Say(history.NotLinear, "no order of events explains the answers of pool %s", pool)
	case porcupine.Unknown:
		t.note("the time did not suffice to check pool %s for linearizability", pool)
	case porcupine.Ok:
	}
}

// checkAudit compares what the service says of a pool with its rows.
func (t *Trial) checkAudit(rows history.Rows) {
	var said struct {
		OK      bool  `json:"ok"`
		Version int64 `json:"version"`
		Prizes  []struct {
			Prize   string `json:"prize"`
			Stocked int64  `json:"stocked"`
			Issued  int64  `json:"issued"`
			Left    int64  `json:"remaining"`
		} `json:"prizes"`
		Violations []any `json:"violations"`
	}
	err := harness.FetchJSON(t.ctx, t.instances[0].url()+"/admin/pools/"+rows.Pool+"/audit", &said)
	if err != nil || !said.OK || said.Version != rows.Version || len(said.Prizes) != len(rows.Prizes) {
		t.verdict.Say(history.AuditDiffers, "pool %s: %v %+v, the rows are at version %d", rows.Pool, err, said, rows.Version)
		return
	}
	counters := map[string]history.PrizeRow{}
	for _, p := range rows.Prizes {
		counters[p.ID] = p
	}
	for _, p := range said.Prizes {
		if r := counters[p.Prize]; p.Stocked != r.Stocked || p.Issued != r.Issued || p.Left != r.Stocked-r.Issued {
			t.verdict.Say(history.AuditDiffers, "pool %s: %+v, the row is %+v", rows.Pool, p, r)
		}
	}
}

// checkNodes wants the same rows of a pool on every node, after the time that a
// node may lag behind.
func (t *Trial) checkNodes(rows history.Rows) {
	for name, db := range t.nodes {
		said := within(t.ctx, recoverMax, func() string { return t.differs(t.ctx, db, rows) })
		if said != "" {
			t.verdict.Say(history.NodesDiffer, "%s, pool %s: %s", name, rows.Pool, said)
		}
	}
}

// differs says how a node's rows of a pool differ from the given ones.
func (t *Trial) differs(ctx context.Context, db *sql.DB, want history.Rows) string {
	have, err := history.Read(ctx, db, want.Pool, t.numbered(), t.program == textbook)
	switch {
	case err != nil:
		return err.Error()
	case len(have.Awards) != len(want.Awards) || have.Version != want.Version:
		return fmt.Sprintf("%d awards at version %d, and %d at version %d elsewhere", len(have.Awards), have.Version, len(want.Awards), want.Version)
	case !reflect.DeepEqual(have, want):
		return "as many rows as elsewhere, but others"
	}
	return ""
}

// lossRules are broken where acknowledged changes are lost: the answer has no
// row, asking again gives another or is refused, and no order of events explains
// both.
func lossRules() []string {
	return []string{history.AcknowledgedLost, history.AnswersDiffer, history.KnownRefused, history.NotLinear}
}

// lose takes what an experiment has to lose off its verdict. One that loses
// nothing has shown nothing.
func (t *Trial) lose() {
	if !t.loses {
		return
	}
	won := map[string]bool{}
	for _, o := range t.history.Ops() {
		if o.Won() && o.Call < t.settled {
			won[o.Pool+" "+o.Key] = true
		}
	}
	lost := t.verdict.Count(history.AcknowledgedLost)
	t.note("%d of %d acknowledged draws and stock moves are lost", lost, len(won))
	t.verdict.Violations = slices.DeleteFunc(t.verdict.Violations, func(v history.Violation) bool {
		return slices.Contains(lossRules(), v.Rule)
	})
	if lost == 0 {
		t.verdict.Say(history.Fault, "nothing was lost, so that nothing was shown")
	}
}
