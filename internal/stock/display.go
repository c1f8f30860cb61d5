package stock

import (
	"context"
	"database/sql"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// readShown sets the display texts of pools, which must be in order of their ids.
func (s *Store) readShown(ctx context.Context, q engine.Querier, pools []*draw.Pool) error {
	if s.engine.Lacks(engine.PartFeed) || len(pools) == 0 {
		return nil
	}
	at := make(map[string]*draw.Pool, len(pools))
	for _, p := range pools {
		at[p.ID] = p
	}
	text, fair := "text", "fair"
	if s.engine.Lacks(engine.PartDisplays) {
		text, fair = "''", "FALSE"
	}
	query := s.ledger.SelectFrom("pool_display", "pool_id", "currency", text, fair).Where(rowsOf(pools))
	_, err := ledger.SelectAll(ctx, q, query, func(row engine.Scanner) (_ struct{}, err error) {
		var read draw.Pool
		err = row.Scan(&read.ID, &read.Currency, &read.Text, &read.IsFair)
		if p := at[read.ID]; p != nil {
			p.Currency, p.Text, p.IsFair = read.Currency, read.Text, read.IsFair
		}
		return struct{}{}, err
	})
	return err
}

// namedMax is the maximum number of pools that a statement names.
const namedMax = 1000

// rowsOf selects the rows of pools, which must be in order of their ids. For more than
// namedMax pools it also selects the rows of other pools between them.
func rowsOf(pools []*draw.Pool) squirrel.Sqlizer {
	if len(pools) <= namedMax {
		ids := make([]string, len(pools))
		for i, p := range pools {
			ids[i] = p.ID
		}
		return squirrel.Eq{"pool_id": ids}
	}
	return squirrel.And{squirrel.GtOrEq{"pool_id": pools[0].ID}, squirrel.LtOrEq{"pool_id": pools[len(pools)-1].ID}}
}

// readDisplays sets the display texts of the prizes of pools, which must be in order of
// their ids.
func (s *Store) readDisplays(ctx context.Context, q engine.Querier, pools []*draw.Pool) error {
	if s.engine.Lacks(engine.PartDisplays) || len(pools) == 0 {
		return nil
	}
	type of struct{ pool, prize string }
	query := s.ledger.SelectFrom("prize_display", "pool_id", "prize_id", "name", "text", "picture", "link").Where(rowsOf(pools))
	shown := map[of]*draw.Display{}
	_, err := ledger.SelectAll(ctx, q, query, func(row engine.Scanner) (_ struct{}, err error) {
		var prize of
		var d draw.Display
		err = row.Scan(&prize.pool, &prize.prize, &d.Name, &d.Text, &d.Picture, &d.Link)
		if d != (draw.Display{}) {
			shown[prize] = &d
		}
		return struct{}{}, err
	})
	if err != nil || len(shown) == 0 {
		return err
	}
	for _, p := range pools {
		for i := range p.Prizes {
			p.Prizes[i].Display = shown[of{p.ID, p.Prizes[i].ID}]
		}
	}
	return nil
}

// errNoDisplays is the error for a schema without columns for display texts.
func errNoDisplays() error {
	return draw.Errorf(draw.CodeStoreUnavailable, "the database's schema has no place for what is only shown: run `drawsvc migrate up`")
}

// changeShown changes the display texts of a locked pool, without creating a version.
func (s *Store) changeShown(ctx context.Context, tx *sql.Tx, poolID string, c *draw.PoolChange) error {
	if !c.ChangesDisplay() {
		return nil
	}
	p := draw.Pool{ID: poolID}
	if err := s.readShown(ctx, tx, []*draw.Pool{&p}); err != nil {
		return err
	}
	if c.Currency != nil {
		p.Currency = *c.Currency
	}
	if c.Text != nil {
		p.Text = *c.Text
	}
	if c.Fair != nil {
		p.IsFair = *c.Fair
	}
	return s.writeShown(ctx, tx, &p)
}

// writeShown writes the display texts of a locked pool.
func (s *Store) writeShown(ctx context.Context, tx *sql.Tx, p *draw.Pool) error {
	values := map[string]any{"currency": p.Currency}
	switch {
	case s.engine.Lacks(engine.PartFeed), s.engine.Lacks(engine.PartDisplays) && (p.Text != "" || p.IsFair):
		return errNoDisplays()
	case !s.engine.Lacks(engine.PartDisplays):
		values["text"], values["fair"] = p.Text, p.IsFair
	}
	return s.put(ctx, tx, "pool_display", squirrel.Eq{"pool_id": p.ID}, values)
}

// put writes the row of a key. Other transactions with the same key wait for it. It does
// not delete and insert, because the service has no right to delete.
func (s *Store) put(ctx context.Context, tx *sql.Tx, table string, key squirrel.Eq, values map[string]any) error {
	found, err := ledger.SelectAll(ctx, tx, s.ledger.SelectFrom(table, "COUNT(*)").Where(key), ledger.ScanInt)
	if err != nil {
		return err
	}
	if found[0] > 0 {
		_, err = s.ledger.Builder().Update(table).SetMap(values).Where(key).RunWith(tx).ExecContext(ctx)
		return err
	}
	for column, value := range key {
		values[column] = value
	}
	_, err = s.ledger.InsertInto(table).SetMap(values).RunWith(tx).ExecContext(ctx)
	return err
}

// changeDisplay changes the display texts of a prize of a locked pool, and sets the
// resulting texts in prize. If c is nil, it only reads them.
func (s *Store) changeDisplay(ctx context.Context, tx *sql.Tx, poolID string, prize *draw.Prize, c *draw.DisplayChange) error {
	pool := draw.Pool{ID: poolID, Prizes: []draw.Prize{*prize}}
	if err := s.readDisplays(ctx, tx, []*draw.Pool{&pool}); err != nil {
		return err
	}
	prize.Display = pool.Prizes[0].Display
	switch {
	case c == nil:
		return nil
	case s.engine.Lacks(engine.PartDisplays):
		return errNoDisplays()
	case prize.Display == nil:
		prize.Display = &draw.Display{}
	}
	d := c.Apply(*prize.Display)
	if prize.Display = &d; d == (draw.Display{}) {
		prize.Display = nil
	}
	return s.writeDisplay(ctx, tx, poolID, prize.ID, d)
}

// writeDisplay writes the display texts of a prize.
func (s *Store) writeDisplay(ctx context.Context, tx *sql.Tx, poolID, prizeID string, d draw.Display) error {
	return s.put(ctx, tx, "prize_display", squirrel.Eq{"pool_id": poolID, "prize_id": prizeID},
		map[string]any{"name": d.Name, "text": d.Text, "picture": d.Picture, "link": d.Link})
}

// logShown writes a change of display texts to the service's log, because no log of the
// pool contains it.
func (s *Store) logShown(poolID, prizeID, actor string, values ...any) {
	of := []any{"pool", poolID}
	if prizeID != "" {
		of = append(of, "prize", prizeID)
	}
	s.options.Log.Info("what is only shown was changed", append(append(of, values...), "actor", actor)...)
}

// logChangeOfPool writes the changes of display texts in c to the service's log.
func (s *Store) logChangeOfPool(poolID string, c *draw.PoolChange, actor string) {
	var values []any
	if c.Currency != nil {
		values = append(values, "currency", *c.Currency)
	}
	if c.Text != nil {
		values = append(values, "text", *c.Text)
	}
	if c.Fair != nil {
		values = append(values, "fair", *c.Fair)
	}
	if len(values) > 0 {
		s.logShown(poolID, "", actor, values...)
	}
}

// forgetShown removes the display texts of a removed pool. The pool's segments of the
// feed stay, because a cursor may name one; they have no awards.
func (s *Store) forgetShown(ctx context.Context, tx *sql.Tx, poolID string) error {
	for table, part := range map[string]engine.Part{"pool_display": engine.PartFeed, "prize_display": engine.PartDisplays} {
		if s.engine.Lacks(part) {
			continue
		}
		if _, err := s.ledger.Builder().Delete(table).Where(squirrel.Eq{"pool_id": poolID}).RunWith(tx).ExecContext(ctx); err != nil {
			return err
		}
	}
	if s.engine.Lacks(engine.PartFeed) {
		return nil
	}
	_, err := s.ledger.Builder().Update("segments").Set("pool_id", "").Where(squirrel.Eq{"pool_id": poolID}).RunWith(tx).ExecContext(ctx)
	return err
}
