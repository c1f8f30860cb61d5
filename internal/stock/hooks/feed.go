package hooks

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/hook"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// ReadPage implements hook.Source: it reads history and steps in one snapshot.
func (h *Hooks) ReadPage(ctx context.Context, poolID string, after, upTo hook.Place) (page hook.Page, err error) {
	err = h.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, version int64) error {
		page = hook.Page{To: after, Head: hook.Place{Version: version}}
		if page.Head.Step, err = h.ledger.LastStep(ctx, tx, poolID); err != nil {
			return err
		}
		r := hook.Reading{}
		isBounded := upTo == hook.Place{}
		last := page.Head
		if !isBounded {
			last = hook.Place{Version: min(last.Version, upTo.Version), Step: min(last.Step, upTo.Step)}
		}
		if err := h.readEntries(ctx, tx, poolID, after, last.Version, isBounded, &r); err != nil {
			return err
		}
		if err := h.readSteps(ctx, tx, poolID, after, last.Step, isBounded, &r); err != nil {
			return err
		}
		var deriver *hook.Deriver
		if len(r.Entries) > 0 {
			start, err := h.readStart(ctx, tx, poolID, after.Version, version)
			if err != nil {
				return err
			}
			deriver = hook.NewDeriver(start)
		}
		return page.Fill(ctx, deriver, &r)
	})
	return page, err
}

// readEntries reads the entries after a place up to a version, and the entry at the
// place.
func (h *Hooks) readEntries(ctx context.Context, tx *sql.Tx, poolID string, after hook.Place, last int64, isBounded bool, r *hook.Reading) error {
	from := max(after.Version-1, 0)
	wanted := hook.EventsMax + 1
	if !isBounded {
		wanted = int(min(last-from, ledger.PageMax))
	}
	if wanted <= 0 {
		return nil // the message has only steps, and comes before the first version
	}
	all := h.ledger.EntriesUpTo(ctx, tx, poolID, from, last, wanted)
	for e, err := range h.ledger.Redirected(ctx, tx, poolID, from, wanted, all) {
		switch {
		case err != nil:
			return err
		case e.Version() <= after.Version:
			r.Before.EntryID = hook.EntryID(poolID, e)
			continue
		case isBounded && len(r.Entries) == hook.EventsMax:
			r.HasMoreEntries = true
			return nil
		}
		r.Entries = append(r.Entries, e.In(poolID))
	}
	return nil
}

// readSteps reads the steps after a place up to a number, and the step at the place.
func (h *Hooks) readSteps(ctx context.Context, tx *sql.Tx, poolID string, after hook.Place, last int64, isBounded bool, r *hook.Reading) error {
	from := max(after.Step-1, 0)
	wanted := last - from
	if isBounded {
		wanted = min(wanted, hook.EventsMax+1)
	}
	if wanted <= 0 {
		return nil
	}
	steps, err := h.steps(ctx, tx, poolID, from, int(wanted))
	if err != nil {
		return err
	}
	for i := range steps {
		if steps[i].N <= after.Step {
			r.Before.StepID = hook.StepID(&steps[i])
			continue
		}
		r.Steps = append(r.Steps, hook.Step{Step: steps[i]})
	}
	r.HasMoreSteps = len(steps) > 0 && steps[len(steps)-1].N < last
	return h.addUsers(ctx, tx, poolID, r.Steps)
}

// addUsers sets the users of the steps' awards.
func (h *Hooks) addUsers(ctx context.Context, tx *sql.Tx, poolID string, steps []hook.Step) error {
	for part := range slices.Chunk(steps, ledger.RowsMax) {
		versions, users := make([]int64, len(part)), map[int64]string{}
		for i := range part {
			versions[i] = part[i].Award
		}
		query := h.ledger.SelectFrom("awards", "version", "user_id").Where(squirrel.Eq{"pool_id": poolID, "version": versions})
		_, err := ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (version int64, err error) {
			var user string
			err = row.Scan(&version, &user)
			users[version] = user
			return version, err
		})
		if err != nil {
			return err
		}
		for i := range part {
			part[i].UserID = users[part[i].Award]
		}
	}
	return nil
}

// readStart returns the state of a pool at a version, computed back from the head's
// state.
func (h *Hooks) readStart(ctx context.Context, tx *sql.Tx, poolID string, at, head int64) (*hook.Start, error) {
	prizes, err := h.ledger.Prizes(ctx, tx, poolID)
	if err != nil {
		return nil, err
	}
	s := &hook.Start{PoolID: poolID, Prizes: prizes, ReadRules: func(c *draw.Change) *draw.Rules { return ledger.RulingOf(c).Rules }}
	later := squirrel.And{squirrel.Eq{"pool_id": poolID}, squirrel.Gt{"version": at}}
	awards := head - at
	moved := map[string]int64{}
	_, err = ledger.SelectAll(ctx, tx, h.ledger.SelectFrom("moves", "prize_id", "SUM(delta)", "COUNT(*)").Where(later).GroupBy("prize_id"), func(row engine.Scanner) (struct{}, error) {
		var prize string
		var delta, moves int64
		err := row.Scan(&prize, &delta, &moves)
		moved[prize] = delta
		awards -= moves
		return struct{}{}, err
	})
	if err != nil {
		return nil, err
	}
	changes, err := ledger.SelectAll(ctx, tx, h.ledger.SelectFrom("changes", "COUNT(*)").Where(later), ledger.ScanInt)
	if err != nil {
		return nil, err
	}
	s.IssuedAll = changes[0] - awards // each version is one award, one move or one change
	for i := range prizes {
		s.IssuedAll += prizes[i].Issued
		prizes[i].Stocked -= moved[prizes[i].ID]
	}
	change, err := h.ledger.LastChange(ctx, tx, poolID, draw.WhatRules, at)
	if err == nil && change != nil {
		s.Rules = ledger.RulingOf(change).Rules
	}
	s.Budgets = &budgets{h.ledger, tx, poolID}
	return s, err
}

// budgets implements hook.Budgets in a snapshot.
type budgets struct {
	ledger *ledger.Ledger
	tx     *sql.Tx
	poolID string
}

// LastRedirect implements hook.Budgets.
func (b *budgets) LastRedirect(ctx context.Context, version int64) (at time.Time, err error) {
	query := b.ledger.SelectFrom("redirects", "version").Where(squirrel.Eq{"pool_id": b.poolID, "why": string(draw.WhyBudget)}).
		Where(squirrel.Lt{"version": version}).OrderBy("version DESC").Limit(1)
	found, err := ledger.SelectAll(ctx, b.tx, query, ledger.ScanInt)
	if err != nil || len(found) == 0 {
		return at, err
	}
	times, err := ledger.SelectAll(ctx, b.tx, b.ledger.SelectFrom("awards", "at").Where(squirrel.Eq{"pool_id": b.poolID, "version": found[0]}), func(row engine.Scanner) (at time.Time, err error) {
		err = row.Scan(engine.ScanTime(&at))
		return at, err
	})
	if err != nil || len(times) == 0 {
		return at, err
	}
	return times[0], nil
}

// Spent implements hook.Budgets.
func (b *budgets) Spent(ctx context.Context, from time.Time, version int64) (int64, error) {
	return b.ledger.SpentBetween(ctx, b.tx, b.poolID, from, version)
}
