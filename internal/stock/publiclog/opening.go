package publiclog

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// announcedBody is the body of a change that announces a round.
type announcedBody struct {
	Round int64 `json:"round"`
}

// openedBody is the body of a change that opens a pool with a round.
type openedBody struct {
	State     draw.State `json:"state"`
	Round     int64      `json:"round"`
	Signature string     `json:"signature"`
}

// round returns the beacon's round that the body contains.
func (b *openedBody) round() draw.Round { return draw.Round{Number: b.Round, Signature: b.Signature} }

// promised returns the commitment of a pool whose row is locked, nil if it has none. It
// reads the commitment only once.
func (s *Store) promised(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool) (*proof.Commitment, error) {
	if of.Committed == 0 || of.Promise != nil {
		return of.Promise, nil
	}
	c, err := s.committed(ctx, tx, of.Pool.ID)
	if err != nil {
		return nil, err
	}
	if of.Promise, err = c.commitment(); err != nil {
		return nil, err
	}
	return of.Promise, nil
}

// beaconOf returns the beacon of a pool whose row is locked, nil if it has none.
func (s *Store) beaconOf(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool) (*proof.Beacon, error) {
	promise, err := s.promised(ctx, tx, of)
	if err != nil || promise == nil {
		return nil, err
	}
	return promise.Beacon, nil
}

// guard makes the store a ledger.Guard.
type guard struct{ store *Store }

// CanRead implements ledger.Guard.
func (g guard) CanRead(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool) error {
	_, err := g.store.promised(ctx, tx, of)
	return err
}

// MayChange implements ledger.Guard. While the round of a pool's beacon is in force,
// nothing that determines the results of the pool's numbers may be changed. If a pool is
// not open, everything may be changed, even if its commitment cannot be read.
func (g guard) MayChange(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool, what ledger.Guarded) (withdraws bool, err error) {
	promise, err := g.store.promised(ctx, tx, of)
	switch {
	case ledger.IsUnreadable(err) && of.Pool.State != draw.StateOpen && what != ledger.OpensByItem && what != ledger.PlansMoment:
		return true, nil
	case err != nil || promise == nil || what == ledger.MovesStock && promise.StockWhileOpen:
		return false, err
	case what == ledger.PlansMoment && (promise.Beacon == nil || promise.StockWhileOpen):
		return false, nil
	case what == ledger.PlansMoment:
		return false, draw.Errorf(draw.CodePoolOpen, "the stock of pool %q does not move while it is open with a round of its beacon, so no moment could be done", of.Pool.ID)
	case promise.Beacon == nil:
		return true, nil
	case what == ledger.OpensByItem:
		return false, draw.Errorf(draw.CodeRoundNotAnnounced, "pool %q opens with a round of its beacon, which an item of the agenda does not have", of.Pool.ID)
	case of.Pool.State == draw.StateOpen:
		return false, draw.Errorf(draw.CodePoolOpen, "pool %q is open with a round of its beacon; pause it before %s, and open it with a new round", of.Pool.ID, what)
	}
	return true, nil
}

// OpenBy replaces the change that opens a pool, if the pool has a beacon. If the request
// has no round, the new change announces a round, and the pool does not open yet. If it
// has the announced round, the new change opens the pool. Errors: CodeInvalidRequest if
// the signature is not that of the round, CodeRoundNotAnnounced.
func (s *Store) OpenBy(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool, c *draw.PoolChange, all []ledger.NewChange) ([]ledger.NewChange, error) {
	if c.State == nil || *c.State != draw.StateOpen {
		return all, nil
	}
	beacon, err := s.beaconOf(ctx, tx, of)
	if err != nil {
		return nil, err
	}
	place := slices.IndexFunc(all, func(n ledger.NewChange) bool { return n.What == draw.WhatState })
	switch {
	case beacon == nil && c.Round != nil:
		return nil, draw.Errorf(draw.CodeInvalidRequest, "pool %q is not committed to a beacon; it opens without a round", of.Pool.ID)
	case beacon == nil || place < 0 && c.Round == nil:
		return all, nil
	case place < 0:
		return all, s.checkOpenedWith(ctx, tx, of, *c.Round)
	case c.Round == nil && of.Round != 0:
		return slices.Delete(all, place, place+1), nil
	case c.Round == nil:
		round, err := s.nextRound(ctx, tx, of, beacon)
		if err != nil {
			return nil, err
		}
		all[place] = ledger.NewChange{
			What: draw.WhatOpening, Body: announcedBody{round}, Set: map[string]any{"opening_round": round, "opening_at": s.ledger.Engine.Time(beacon.At(round))},
		}
		return all, nil
	case of.Round != c.Round.Number:
		return nil, errNotAnnounced(of, c.Round.Number)
	}
	if _, err := beacon.Mixed(*c.Round); err != nil {
		return nil, err
	}
	all[place].Body = openedBody{draw.StateOpen, c.Round.Number, c.Round.Signature}
	all[place].Set["opened"] = of.Head.Version + int64(place) + 1
	of.Unannounce(all[place].Set)
	return all, nil
}

// nextRound returns the round to announce. It comes after all rounds that were announced
// before, so that no round opens the pool twice, even if the database's clock is slow.
func (s *Store) nextRound(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool, beacon *proof.Beacon) (int64, error) {
	last, err := s.ledger.LastChange(ctx, tx, of.Pool.ID, draw.WhatOpening, of.Head.Version)
	if err != nil {
		return 0, err
	}
	var before announcedBody
	if last != nil {
		if err := json.Unmarshal([]byte(last.Body), &before); err != nil {
			return 0, draw.Unreadable("the opening of version %d", err, last.Version)
		}
	}
	return max(beacon.Next(of.At), before.Round+1), nil
}

func errNotAnnounced(of *ledger.LockedPool, round int64) error {
	if of.Round == 0 {
		return draw.Errorf(draw.CodeRoundNotAnnounced, "pool %q has no round announced: open it without a round first, then with the one that this announces", of.Pool.ID)
	}
	return draw.Errorf(draw.CodeRoundNotAnnounced, "pool %q is announced to open with round %d, and not with round %d", of.Pool.ID, of.Round, round)
}

// checkOpenedWith returns nil if an open pool was opened with the given round: then the
// request only repeats an earlier one.
func (s *Store) checkOpenedWith(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool, round draw.Round) error {
	body, err := s.openedWith(ctx, tx, of.Pool.ID, of.Opened)
	if err == nil && body.round() != round {
		err = draw.Errorf(draw.CodeRoundNotAnnounced, "pool %q is open, with round %d; pause it before it is opened with another", of.Pool.ID, body.Round)
	}
	return err
}

// openedWith reads the change that opened a pool with a round.
func (s *Store) openedWith(ctx context.Context, q engine.Querier, poolID string, version int64) (body openedBody, err error) {
	c, err := s.ledger.ChangeAt(ctx, q, poolID, version)
	if err != nil {
		return body, err
	}
	if c == nil || c.What != draw.WhatState {
		err = errors.New("the change does not exist")
	} else if err = json.Unmarshal([]byte(c.Body), &body); err == nil && body.Round == 0 {
		err = errors.New("it names no round")
	}
	if err != nil {
		return body, draw.Unreadable("the change of version %d that opened pool %q with a round", err, version, poolID)
	}
	return body, nil
}
