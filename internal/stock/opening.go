package stock

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
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

// round is the body's.
func (b *openedBody) round() draw.Round { return draw.Round{Number: b.Round, Signature: b.Signature} }

// promised is what a pool whose row is locked is committed to, nil for a pool that
// is not. It is read once.
func (s *Store) promised(ctx context.Context, tx *sql.Tx, of *lockedPool) (*proof.Commitment, error) {
	if of.committed == 0 || of.promise != nil {
		return of.promise, nil
	}
	c, err := s.committed(ctx, tx, of.pool.ID)
	if err != nil {
		return nil, err
	}
	if of.promise, err = c.commitment(); err != nil {
		return nil, err
	}
	return of.promise, nil
}

// beaconOf is the beacon of a pool whose row is locked, nil for none.
func (s *Store) beaconOf(ctx context.Context, tx *sql.Tx, of *lockedPool) (*proof.Beacon, error) {
	promise, err := s.promised(ctx, tx, of)
	if err != nil || promise == nil {
		return nil, err
	}
	return promise.Beacon, nil
}

// openBy turns the opening of a pool with a beacon, which is one of the changes,
// into what it takes: without a round one is announced, and stays so; with the
// announced one the pool opens. Errors: CodeInvalidRequest for a signature that
// is not the round's, CodeRoundNotAnnounced.
func (s *Store) openBy(ctx context.Context, tx *sql.Tx, of *lockedPool, c *draw.PoolChange, all []newChange) ([]newChange, error) {
	if c.State == nil || *c.State != draw.StateOpen {
		return all, nil
	}
	beacon, err := s.beaconOf(ctx, tx, of)
	if err != nil {
		return nil, err
	}
	place := slices.IndexFunc(all, func(n newChange) bool { return n.what == draw.WhatState })
	switch {
	case beacon == nil && c.Round != nil:
		return nil, draw.Errorf(draw.CodeInvalidRequest, "pool %q is not committed to a beacon; it opens without a round", of.pool.ID)
	case beacon == nil || place < 0 && c.Round == nil:
		return all, nil
	case place < 0:
		return all, s.checkOpenedWith(ctx, tx, of, *c.Round)
	case c.Round == nil && of.round != 0:
		return slices.Delete(all, place, place+1), nil
	case c.Round == nil:
		round, err := s.nextRound(ctx, tx, of, beacon)
		if err != nil {
			return nil, err
		}
		all[place] = newChange{draw.WhatOpening, announcedBody{round}, map[string]any{"opening_round": round, "opening_at": s.engine.Time(beacon.At(round))}}
		return all, nil
	case of.round != c.Round.Number:
		return nil, errNotAnnounced(of, c.Round.Number)
	}
	if _, err := beacon.Mixed(*c.Round); err != nil {
		return nil, err
	}
	all[place].body = openedBody{draw.StateOpen, c.Round.Number, c.Round.Signature}
	all[place].set["opened"] = of.head.Version + int64(place) + 1
	of.unannounce(all[place].set)
	return all, nil
}

// nextRound is the round to announce: behind those that were announced before, so
// that none opens the pool twice, however slow the database's clock is.
func (s *Store) nextRound(ctx context.Context, tx *sql.Tx, of *lockedPool, beacon *proof.Beacon) (int64, error) {
	last, err := s.lastChange(ctx, tx, of.pool.ID, draw.WhatOpening, of.head.Version)
	if err != nil {
		return 0, err
	}
	var before announcedBody
	if last != nil {
		if err := json.Unmarshal([]byte(last.Body), &before); err != nil {
			return 0, draw.Unreadable("the opening of version %d", err, last.Version)
		}
	}
	return max(beacon.Next(of.at), before.Round+1), nil
}

func errNotAnnounced(of *lockedPool, round int64) error {
	if of.round == 0 {
		return draw.Errorf(draw.CodeRoundNotAnnounced, "pool %q has no round announced: open it without a round first, then with the one that this announces", of.pool.ID)
	}
	return draw.Errorf(draw.CodeRoundNotAnnounced, "pool %q is announced to open with round %d, and not with round %d", of.pool.ID, of.round, round)
}

// checkOpenedWith says whether a pool that is open was opened with a round: then
// the request is one that comes again.
func (s *Store) checkOpenedWith(ctx context.Context, tx *sql.Tx, of *lockedPool, round draw.Round) error {
	body, err := s.openedWith(ctx, tx, of.pool.ID, of.opened)
	if err == nil && body.round() != round {
		err = draw.Errorf(draw.CodeRoundNotAnnounced, "pool %q is open, with round %d; pause it before it is opened with another", of.pool.ID, body.Round)
	}
	return err
}

// openedWith reads the change that opened a pool with a round.
func (s *Store) openedWith(ctx context.Context, q engine.Querier, poolID string, version int64) (body openedBody, err error) {
	c, err := s.changeAt(ctx, q, poolID, version)
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

// unannounce has the announced round, if there is one, stand no more: whoever
// knows it and the seed could otherwise fit the pool to the numbers.
func (of *lockedPool) unannounce(set map[string]any) {
	if of.round != 0 {
		of.round, set["opening_round"], set["opening_at"] = 0, int64(0), nil
	}
}

// checkStock reports that the stock of the pool cannot be moved now.
func (s *Store) checkStock(ctx context.Context, tx *sql.Tx, of *lockedPool) error {
	if err := of.pool.CheckNotClosed(); err != nil {
		return err
	}
	if of.pool.State != draw.StateOpen { // also where what it is committed to cannot be read
		return nil
	}
	promise, err := s.promised(ctx, tx, of)
	if err != nil || promise == nil || promise.StockWhileOpen {
		return err
	}
	return s.checkBlind(ctx, tx, of, "its stock is moved")
}

// checkBlind reports that what the numbers of a pool give cannot be changed now,
// because its beacon's round is in force. what says what would be changed.
func (s *Store) checkBlind(ctx context.Context, tx *sql.Tx, of *lockedPool, what string) error {
	if of.pool.State != draw.StateOpen {
		return nil
	}
	beacon, err := s.beaconOf(ctx, tx, of)
	if err == nil && beacon != nil {
		return draw.Errorf(draw.CodePoolOpen, "pool %q is open with a round of its beacon; pause it before %s, and open it with a new round", of.pool.ID, what)
	}
	return err
}

// checkOpens reports an item that would open a pool with a beacon: an item brings
// no round.
func (s *Store) checkOpens(ctx context.Context, tx *sql.Tx, of *lockedPool, items []draw.Item) error {
	opens := slices.ContainsFunc(items, func(i draw.Item) bool { return i.Kind == draw.ItemState && i.State == draw.StateOpen })
	if !opens {
		return nil
	}
	err := s.checkRoundless(ctx, tx, of)
	if e, ok := errors.AsType[*draw.Error](err); ok && e.Code == draw.CodeRoundNotAnnounced {
		return draw.Errorf(draw.CodeInvalidRequest, "%s", e.Detail)
	}
	return err
}

func (s *Store) checkRoundless(ctx context.Context, tx *sql.Tx, of *lockedPool) error {
	beacon, err := s.beaconOf(ctx, tx, of)
	if err == nil && beacon != nil {
		return draw.Errorf(draw.CodeRoundNotAnnounced, "pool %q opens with a round of its beacon, which an item of the agenda does not bring", of.pool.ID)
	}
	return err
}
