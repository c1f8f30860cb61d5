package jobrows

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"drawsvc/internal/catalogue"
	"drawsvc/internal/job"
	"drawsvc/internal/stock/engine"
)

// Catalogue implements catalogue.Loader and catalogue.Saver. Errors: those of the
// store.
func (j *Rows) Catalogue(ctx context.Context, digest string) (*catalogue.Stored, error) {
	var c catalogue.Stored
	found := true
	err := j.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		err := j.ledger.SelectFrom("catalogue", "source", "digest", "etag", "last_modified", "fetched_at", "checked_at").
			RunWith(tx).QueryRowContext(ctx).
			Scan(&c.Source, &c.Digest, &c.ETag, &c.LastModified, engine.ScanTime(&c.FetchedAt), engine.ScanTime(&c.CheckedAt))
		if errors.Is(err, sql.ErrNoRows) {
			found = false
			return nil
		}
		if err != nil || c.Digest == digest {
			return err
		}
		return j.ledger.SelectFrom("catalogue", "body").RunWith(tx).QueryRowContext(ctx).Scan(&c.Body)
	})
	if err != nil || !found {
		return nil, err
	}
	return &c, nil
}

// SaveCatalogue implements catalogue.Saver. Errors: job.ErrLost, and those of the
// store.
func (j *Rows) SaveCatalogue(ctx context.Context, run job.Run, c catalogue.Stored) error {
	return j.fenced(ctx, run, func(tx *sql.Tx, _ *job.Row, now time.Time) error {
		if c.Body == nil {
			_, err := j.ledger.Builder().Update("catalogue").Set("checked_at", j.ledger.Engine.Time(now)).RunWith(tx).ExecContext(ctx)
			return err
		}
		if _, err := j.ledger.Builder().Delete("catalogue").RunWith(tx).ExecContext(ctx); err != nil {
			return err
		}
		_, err := j.ledger.InsertInto("catalogue").
			Columns("one", "source", "body", "digest", "etag", "last_modified", "fetched_at", "checked_at").
			Values(1, c.Source, c.Body, c.Digest, c.ETag, c.LastModified, j.ledger.Engine.Time(now), j.ledger.Engine.Time(now)).
			RunWith(tx).ExecContext(ctx)
		return err
	})
}
