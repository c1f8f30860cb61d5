package ledger

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// Stocking is a move to make, of an existing prize or together with a new one.
type Stocking struct {
	Prize  draw.Prize // with its counts before the move
	Delta  int64
	Reason string
	Key    string
	IsNew  bool
}

// CheckDelta returns an error if a prize does not allow a move by delta.
func CheckDelta(p draw.Prize, delta int64) error {
	if p.Stocked+delta < p.Issued {
		return draw.Errorf(draw.CodeStockBelowIssued, "prize %q has issued %d of %d units; %d more cannot be withdrawn",
			p.ID, p.Issued, p.Stocked, -delta)
	}
	if p.Stocked+delta > draw.StockMax {
		return draw.Errorf(draw.CodeInvalidRequest, "delta would raise the stock of prize %q above %d", p.ID, draw.StockMax)
	}
	return p.CheckCodes(delta)
}

// CheckStock returns an error if the stock of the pool cannot be moved now.
func (l *Ledger) CheckStock(ctx context.Context, tx *sql.Tx, of *LockedPool) error {
	if err := of.Pool.CheckNotClosed(); err != nil {
		return err
	}
	_, err := l.Guard.MayChange(ctx, tx, of, MovesStock)
	return err
}

// Prizes reads all prizes of a pool, in the order in which they were added.
func (l *Ledger) Prizes(ctx context.Context, q engine.Querier, poolID string) ([]draw.Prize, error) {
	query := l.SelectFrom("prizes", l.Engine.PrizeColumns()).Where(squirrel.Eq{"pool_id": poolID}).OrderBy("added")
	found, err := SelectAll(ctx, q, query, engine.ScanPrize)
	if err != nil {
		return nil, err
	}
	return found, l.ReadPlaces(ctx, q, poolID, found)
}

// Prize reads one prize of a pool. Error: CodePrizeNotFound.
func (l *Ledger) Prize(ctx context.Context, tx *sql.Tx, poolID, id string) (draw.Prize, error) {
	query := FirstFrom(l.SelectFrom("prizes", l.Engine.PrizeColumns()).Where(squirrel.Eq{"pool_id": poolID}), "id", id)
	found, err := SelectAll(ctx, tx, query, engine.ScanPrize)
	if err == nil && (len(found) == 0 || found[0].ID != id) {
		return draw.Prize{}, draw.Errorf(draw.CodePrizeNotFound, "pool %q has no prize %q", poolID, id)
	}
	if err == nil {
		err = l.ReadPlaces(ctx, tx, poolID, found)
	}
	if err != nil {
		return draw.Prize{}, err
	}
	return found[0], nil
}

// FirstFrom selects the first row whose column, the last of a key, is at least value.
// Only that key has this order. If the query asked for the value itself, PostgreSQL could
// use another key of the pool, and read all its rows.
func FirstFrom(query squirrel.SelectBuilder, column, value string) squirrel.SelectBuilder {
	return query.Where(squirrel.GtOrEq{column: value}).OrderBy(column).Limit(1)
}

// RowsMax is the maximum number of rows in one INSERT. It keeps the number of parameters
// below the limit of every database.
const RowsMax = 500

// StockAll makes moves, in order, in a pool whose row is locked.
func (l *Ledger) StockAll(ctx context.Context, tx *sql.Tx, of *LockedPool, all []Stocking) error {
	for n := 0; n < len(all); n += RowsMax {
		if err := l.InsertStock(ctx, tx, of, n, all[n:min(len(all), n+RowsMax)]); err != nil {
			return err
		}
	}
	return l.Moved(ctx, tx, of, len(all))
}

// Moved records n moves on the pool's row by a single update. PostgreSQL checks the
// foreign key of each new prize, and would read all former versions of the row for that.
func (l *Ledger) Moved(ctx context.Context, tx *sql.Tx, of *LockedPool, n int) error {
	if n == 0 {
		return nil
	}
	set := map[string]any{}
	if of.Round != 0 {
		withdraws, err := l.Guard.MayChange(ctx, tx, of, MovesStock)
		if err != nil {
			return err
		}
		if withdraws {
			of.Unannounce(set)
		}
	}
	to := of.Head.Next(n)
	err := ExecOne(ctx, tx, l.moveHead(of, to).SetMap(set))
	of.Head = to
	return err
}

// InsertStock makes the moves in part. made is the number of moves that the transaction
// has made before.
func (l *Ledger) InsertStock(ctx context.Context, tx *sql.Tx, of *LockedPool, made int, part []Stocking) error {
	if err := l.CheckStock(ctx, tx, of); err != nil {
		return err
	}
	poolID, version := of.Pool.ID, of.Head.Version+int64(made)
	columns := []string{"pool_id", "id", "name", "value", "stocked", "issued", "added", "changed", "kind"}
	added, raised := l.InsertInto("prizes").Columns(columns...), l.InsertInto("prizes").Columns(columns...).Suffix(l.Engine.Restock)
	var coded []string
	last := map[string]int{} // the last of several moves of a prize, because PostgreSQL changes a row only once
	for i := range part {
		last[part[i].Prize.ID] = i
	}
	moves := make([]draw.Move, 0, len(part))
	adds := 0
	for i, m := range part {
		version++
		p, after := m.Prize, m.Delta
		if m.IsNew {
			added = added.Values(poolID, p.ID, p.Name, p.Value.StringFixed(2), after, 0, version, version, string(cmp.Or(p.Kind, draw.KindPrize)))
			adds++
			if p.HasCodes {
				coded = append(coded, p.ID)
			}
		} else {
			after += p.Stocked
		}
		if !m.IsNew && last[p.ID] == i {
			raised = raised.Values(poolID, p.ID, p.Name, p.Value.StringFixed(2), after, p.Issued, version, version, string(p.Kind))
		}
		moves = append(moves, draw.Move{
			Version: version, PrizeID: p.ID, Delta: m.Delta, Reason: m.Reason, Actor: of.Actor, Key: m.Key, Stocked: after, Issued: p.Issued,
		})
	}
	if adds > 0 {
		if _, err := added.RunWith(tx).ExecContext(ctx); err != nil {
			return err
		}
	}
	if err := l.beginCodes(ctx, tx, poolID, coded); err != nil {
		return err
	}
	if adds < len(part) {
		if _, err := raised.RunWith(tx).ExecContext(ctx); err != nil {
			return err
		}
	}
	return appendTo(ctx, tx, l.Engine.Dialect, l.moves, poolID, l.Engine.Time(of.At), moves)
}
