package jobrows

import (
	"context"
	"database/sql"
	"time"

	"github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
	"drawsvc/internal/fault"
	"drawsvc/internal/job"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

func statementColumns() []string {
	return []string{"pool_id", "day", "prize_id", "issued", "remaining", "value", "to_version"}
}

func scanLine(row engine.Scanner) (job.Line, error) {
	var l job.Line
	err := row.Scan(&l.Pool, &l.Day, &l.Prize, &l.Issued, &l.Remaining, &l.Value, &l.ToVersion)
	return l, err
}

// linesEnough bounds a call of StateDays. After this many lines the call completes the
// day at which it is, and ends, because its transaction makes draws on SQLite wait.
const linesEnough = 10_000

// StateDays implements job.Stated. It reads the pool's history after the last day that
// has lines, once. It needs no lock for that, because only a run of the job writes lines.
func (j *Rows) StateDays(ctx context.Context, run job.Run, poolID string) (int, error) {
	var st *stating
	err := j.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		now, err := j.ledger.DatabaseTime(ctx, tx)
		if err != nil {
			return err
		}
		if st, err = j.newStating(ctx, tx, poolID, run.Zone, now); err != nil {
			return err
		}
		for e, err := range j.ledger.Entries(ctx, tx, poolID, st.version) {
			if err != nil {
				return err
			}
			if !st.take(e) {
				return nil
			}
		}
		st.closeUntil(st.today)
		return nil
	})
	if err != nil || len(st.lines) == 0 {
		return 0, err
	}
	fault.At(fault.InRun)
	return st.days, j.fenced(ctx, run, func(tx *sql.Tx, _ *job.Row, _ time.Time) error {
		for rest := st.lines; len(rest) > 0; {
			n := min(len(rest), ledger.RowsMax)
			insert := j.ledger.InsertInto("statements").Columns(statementColumns()...)
			for _, l := range rest[:n] {
				insert = insert.Values(l.Pool, l.Day, l.Prize, l.Issued, l.Remaining, l.Value.StringFixed(2), l.ToVersion)
			}
			if _, err := insert.RunWith(tx).ExecContext(ctx); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	})
}

// stating computes the lines of a pool's days from its history.
type stating struct {
	poolID string
	zone   *time.Location
	// day is the first day without lines, at its local midnight. It is zero before the
	// first entry. today is the current day.
	day, today time.Time
	version    int64
	closed     bool
	prizes     []*statedPrize
	byID       map[string]*statedPrize
	// entries counts the entries of the day, and days counts the days that have lines.
	entries, days int
	lines         []job.Line
}

type statedPrize struct {
	id                string
	value             decimal.Decimal
	issued, remaining int64
	known             bool
}

func (j *Rows) newStating(ctx context.Context, tx *sql.Tx, poolID string, zone *time.Location, now time.Time) (*stating, error) {
	st := &stating{poolID: poolID, zone: zone, today: midnight(now, zone), byID: map[string]*statedPrize{}}
	var state draw.State
	if err := j.ledger.SelectFrom("pools", "state").Where(squirrel.Eq{"id": poolID}).RunWith(tx).QueryRowContext(ctx).Scan(&state); err != nil {
		return nil, err
	}
	st.closed = state == draw.StateClosed
	prizes, err := j.ledger.Prizes(ctx, tx, poolID)
	if err != nil {
		return nil, err
	}
	for _, p := range prizes {
		one := &statedPrize{id: p.ID, value: p.Value}
		st.prizes, st.byID[p.ID] = append(st.prizes, one), one
	}
	ofPool := squirrel.Eq{"pool_id": poolID}
	last, err := ledger.SelectAll(ctx, tx, j.ledger.SelectFrom("statements", statementColumns()...).Where(ofPool).OrderBy("day DESC").Limit(1), scanLine)
	if err != nil || len(last) == 0 {
		return st, err
	}
	last, err = ledger.SelectAll(ctx, tx, j.ledger.SelectFrom("statements", statementColumns()...).Where(ofPool).Where(squirrel.Eq{"day": last[0].Day}), scanLine)
	if err != nil {
		return st, err
	}
	for _, l := range last {
		if p := st.byID[l.Prize]; p != nil {
			p.remaining, p.known = l.Remaining, true
		}
	}
	day, err := time.Parse(time.DateOnly, last[0].Day)
	st.day, st.version = job.Midnight(day.Year(), day.Month(), day.Day()+1, zone), last[0].ToVersion
	return st, err
}

// take adds an entry. It returns false if this call must not add any more entries.
func (st *stating) take(e draw.Entry) bool {
	at := e.At()
	if st.day.IsZero() {
		st.day = midnight(at, st.zone)
	}
	if st.closeUntil(midnight(at, st.zone)); !st.day.Before(st.today) || st.isEnough() {
		return false
	}
	st.version = e.Version()
	st.entries++
	switch {
	case e.Award != nil:
		if p := st.byID[e.Award.PrizeID]; p != nil {
			p.issued++
			p.remaining--
		}
	case e.Move != nil:
		if p := st.byID[e.Move.PrizeID]; p != nil {
			p.remaining += e.Move.Delta
			p.known = true
		}
	}
	return true
}

// closeUntil writes the lines of all days before a day, except today. A day on which
// nothing happened to a closed pool has no lines.
func (st *stating) closeUntil(day time.Time) {
	for ; !st.day.IsZero() && st.day.Before(day) && st.day.Before(st.today) && !st.isEnough(); st.day = nextMidnight(st.day) {
		if st.entries == 0 && st.closed {
			continue
		}
		for _, p := range st.prizes {
			if !p.known {
				continue
			}
			st.lines = append(st.lines, job.Line{
				Pool: st.poolID, Day: st.day.Format(time.DateOnly), Prize: p.id, Issued: p.issued, Remaining: p.remaining,
				Value: p.value.Mul(decimal.NewFromInt(p.issued)), ToVersion: st.version,
			})
			p.issued = 0
		}
		st.entries = 0
		st.days++
	}
}

// isEnough reports whether the remaining days are left to the next call.
func (st *stating) isEnough() bool { return st.days == job.DaysMax || len(st.lines) >= linesEnough }

// midnight returns the beginning of t's local day.
func midnight(t time.Time, zone *time.Location) time.Time {
	year, month, day := t.In(zone).Date()
	return job.Midnight(year, month, day, zone)
}

// nextMidnight returns the beginning of the day after the one that begins at t.
func nextMidnight(t time.Time) time.Time {
	year, month, day := t.Date()
	return job.Midnight(year, month, day+1, t.Location())
}

// Statements returns the lines of a pool for the days after a day, in order of the days
// and then of the prizes' ids. It returns only whole days: at least one, at most limit,
// with about linesEnough lines. next is the last of these days, "" if no day follows.
// Errors: CodePoolNotFound, and those of the store.
func (j *Rows) Statements(ctx context.Context, poolID, after string, limit int) (lines []job.Line, next string, err error) {
	of := j.ledger.SelectFrom("statements", statementColumns()...).Where(squirrel.Eq{"pool_id": poolID}).OrderBy("day", "prize_id")
	err = j.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		lines, err = ledger.SelectAll(ctx, tx, of.Where(squirrel.Gt{"day": after}).Limit(linesEnough), scanLine)
		if err != nil || len(lines) == 0 {
			return err
		}
		if lines, next = wholeDays(lines, limit, linesEnough); len(lines) == linesEnough {
			if lines, err = ledger.SelectAll(ctx, tx, of.Where(squirrel.Eq{"day": next}), scanLine); err != nil {
				return err
			}
		}
		endless, err := j.ledger.Endless(ctx, tx, poolID)
		for i := range lines {
			lines[i].IsEndless = endless[lines[i].Prize]
		}
		return err
	})
	return lines, next, err
}

// wholeDays returns the lines of at most limit days, and the last of these days if more
// may follow. If the number of lines reaches full, the last day may be incomplete. Then
// it is left out, unless it is the only one.
func wholeDays(lines []job.Line, limit, full int) (whole []job.Line, next string) {
	days, last := 1, 0 // last is the index at which the last day begins
	for i := 1; i < len(lines); i++ {
		if lines[i].Day == lines[i-1].Day {
			continue
		}
		if days++; days > limit {
			return lines[:i], lines[i-1].Day
		}
		last = i
	}
	switch {
	case len(lines) < full:
		return lines, ""
	case last == 0:
		return lines, lines[0].Day
	}
	return lines[:last], lines[last-1].Day
}
