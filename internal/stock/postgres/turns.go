package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock/engine"
)

// Turns implements engine.Tx. The head is read after the turns: if it is still the urn's
// head, nobody has written a turn since.
func (tx *attempt) Turns(ctx context.Context, urn *urn.Urn, needs []urn.Need) (*urn.Facts, error) {
	facts, err := tx.turns(ctx, urn, needs)
	return facts, engine.Classify(err, classify)
}

// turns makes one round trip. It locks the row first if the options require a lock and
// the pool was not read before. One statement reads the turns and another one the head.
// On a connection without a transaction, the two may see different states.
func (tx *attempt) turns(ctx context.Context, u *urn.Urn, needs []urn.Need) (facts *urn.Facts, err error) {
	batch := &pgx.Batch{}
	opening := tx.options.Lock && !tx.open
	if opening {
		tx.beginLocked(batch, u.PoolID)
	}
	batch.Queue(tx.dialect.ByKey)
	batch.Queue(tx.words.needs, looksOf(u.PoolID, needs)...)
	batch.Queue(tx.words.head, u.PoolID)
	results := tx.conn.SendBatch(ctx, batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	if opening {
		if err := tx.begunLocked(results); err != nil {
			return nil, err
		}
	}
	if _, err := results.Exec(); err != nil {
		return nil, err
	}
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	facts = urn.NewFacts(needs)
	var t draw.Turn
	if _, err = pgx.ForEachRow(rows, engine.Turns().Fields(&t), func() error { facts.Add(t); return nil }); err != nil {
		return nil, err
	}
	var version, mark int64
	var due, writable bool
	if err := results.QueryRow().Scan(&version, &mark, &due, &writable); errors.Is(err, pgx.ErrNoRows) {
		return nil, engine.ErrConflict // the next read shows what has happened to the pool
	} else if err != nil {
		return nil, err
	}
	if !writable {
		return nil, engine.ReadOnlyServer()
	}
	if version != u.Version || mark != u.Mark || due && !u.IsDue() {
		return nil, engine.ErrConflict
	}
	return facts, nil
}

// looksOf returns the arguments of the read of turns: the needs, and the windows of each
// kind, which all needs of the kind share.
func looksOf(poolID string, needs []urn.Need) []any {
	subjects, whats, units := make([]string, len(needs)), make([]string, len(needs)), make([]int64, len(needs))
	var windowsOf []string
	var windows []int64
	known := map[draw.Counted]bool{}
	for i, n := range needs {
		subjects[i], whats[i], units[i] = n.Subject, string(n.Counted), n.Units
		if known[n.Counted] {
			continue
		}
		known[n.Counted] = true
		for _, window := range n.Windows {
			windowsOf, windows = append(windowsOf, string(n.Counted)), append(windows, window)
		}
	}
	return []any{poolID, subjects, whats, units, windowsOf, windows}
}
