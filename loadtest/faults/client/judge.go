package client

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// Judge retries the requests in doubt until they are settled, searches for leftovers, and
// compares the answers with the rows.
func (t *Trial) Judge() error {
	t.settle()
	t.leftovers()
	return t.check()
}

// leftovers searches the instances and the database for things that the trial left
// behind.
func (t *Trial) leftovers() {
	t.Client.CloseIdleConnections()
	for _, left := range t.Leftovers() {
		t.Verdict.Say(history.LeftOver, "%v", left)
	}
}

func (t *Trial) check() error {
	ops := t.History.Ops()
	terms := history.Terms{
		Deadline: t.Limit() + stage.Grace + time.Duration(t.Lag.Load()), Internal: t.Internal, Codes: t.Codes, Settled: t.settled,
		Plenty: map[string]bool{t.Pool(MainPool): true},
		Excused: func(instance int, from, to time.Duration) bool {
			return t.Front == "" && t.Instances[instance].Halted(t.History.Time(from), t.History.Time(to))
		},
	}
	history.Answers(&t.Verdict, ops, terms)
	changes := map[string][]int64{}
	for pool := range t.Made {
		rows, err := t.Rows(pool)
		if err != nil {
			return err
		}
		changes[pool] = rows.Changes
		history.Match(&t.Verdict, ops, rows, terms)
		history.Laws(&t.Verdict, rows)
		t.checkNodes(rows)
		if t.Program != stage.Textbook {
			t.checkAudit(rows)
		}
	}
	for _, p := range t.Small {
		t.checkLinear(ops, p.Name, changes[p.Name])
	}
	for _, judge := range t.Judges {
		if err := judge(); err != nil {
			return err
		}
	}
	t.lose()
	return nil
}

// Rows reads a pool's rows. It retries after a connection that died unnoticed.
func (t *Trial) Rows(pool string) (rows history.Rows, err error) {
	for range 3 {
		if rows, err = history.Read(t.Ctx, t.Base.Admin, pool, t.Numbered(), t.Program == stage.Textbook); err == nil {
			break
		}
	}
	return rows, err
}

func (t *Trial) checkLinear(ops []history.Op, pool string, changes []int64) {
	most := linearMax
	if t.Condemned {
		most = 200 * time.Millisecond // a broken program is not worth more time
	}
	version := int64(len(t.Made[pool]))
	if t.Program != stage.Textbook {
		version++ // for the change that created the pool
	}
	switch history.Linear(ops, pool, t.Made[pool], version, changes, most) {
	case porcupine.Illegal:
		t.Verdict.Say(history.NotLinear, "no order of events explains the answers of pool %s", pool)
	case porcupine.Unknown:
		t.Note("the time did not suffice to check pool %s for linearizability", pool)
	case porcupine.Ok:
	}
}

func (t *Trial) checkAudit(rows history.Rows) {
	var said struct {
		OK      bool  `json:"ok"`
		Version int64 `json:"version"`
		Prizes  []struct {
			Prize  string `json:"prize"`
			Issued int64  `json:"issued"`
			// For an endless blank they are null.
			Stocked *int64 `json:"stocked"`
			Left    *int64 `json:"remaining"`
		} `json:"prizes"`
		Violations []any `json:"violations"`
	}
	err := stage.Within(t.Ctx, t.settleMax(), func() error { // a 503 contains no rows
		return harness.FetchJSON(t.Ctx, t.Instances[0].URL()+"/admin/pools/"+rows.Pool+"/audit", &said)
	})
	if err != nil || !said.OK || said.Version != rows.Version || len(said.Prizes) != len(rows.Prizes) {
		t.Verdict.Say(history.AuditDiffers, "pool %s: %v %+v, the rows are at version %d", rows.Pool, err, said, rows.Version)
		return
	}
	counters := map[string]history.PrizeRow{}
	for _, p := range rows.Prizes {
		counters[p.ID] = p
	}
	for _, p := range said.Prizes {
		r, is := counters[p.Prize]
		if p.Issued != r.Issued || p.Stocked != nil && (*p.Stocked != r.Stocked || *p.Left != r.Stocked-r.Issued) || !is {
			t.Verdict.Say(history.AuditDiffers, "pool %s: %+v, the row is %+v", rows.Pool, p, r)
		}
	}
}

// checkNodes demands the same rows of a pool on every node, after the time that a node
// may lag.
func (t *Trial) checkNodes(rows history.Rows) {
	for name, db := range t.Nodes {
		if err := stage.Within(t.Ctx, RecoverMax, func() error { return t.differs(t.Ctx, db, rows) }); err != nil {
			t.Verdict.Say(history.NodesDiffer, "%s, pool %s: %v", name, rows.Pool, err)
		}
	}
}

func (t *Trial) differs(ctx context.Context, db *sql.DB, want history.Rows) error {
	have, err := history.Read(ctx, db, want.Pool, t.Numbered(), t.Program == stage.Textbook)
	switch {
	case err != nil:
		return err
	case len(have.Awards) != len(want.Awards) || have.Version != want.Version:
		return fmt.Errorf("%d awards at version %d, and %d at version %d elsewhere", len(have.Awards), have.Version, len(want.Awards), want.Version)
	case !reflect.DeepEqual(have, want):
		return errors.New("as many rows as elsewhere, but others")
	}
	return nil
}

// lossRules returns the rules that a lost acknowledged change breaks. The answer has no
// row, a retry gets another answer or is refused, and no order of events explains the
// two answers.
func lossRules() []string {
	return []string{history.AcknowledgedLost, history.AnswersDiffer, history.KnownRefused, history.NotLinear}
}

// lose removes from the verdict the losses that the experiment must cause. If nothing was
// lost, the experiment failed.
func (t *Trial) lose() {
	if !t.Loses {
		return
	}
	won := map[string]bool{}
	for _, o := range t.History.Ops() {
		if o.Won() && o.Call < t.settled {
			won[o.Pool+" "+o.Key] = true
		}
	}
	lost := t.Verdict.Count(history.AcknowledgedLost)
	t.Note("%d of %d acknowledged draws and stock moves are lost", lost, len(won))
	t.Verdict.Violations = slices.DeleteFunc(t.Verdict.Violations, func(v history.Violation) bool {
		return slices.Contains(lossRules(), v.Rule)
	})
	if lost == 0 {
		t.Verdict.Say(history.Fault, "nothing was lost, so that nothing was shown")
	}
}
