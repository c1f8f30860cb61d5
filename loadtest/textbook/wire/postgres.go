package wire

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The tables have the names of the service's own, so that one SQL check reads both.
// They have no CHECK and no unique key of a draw, as in the usual article. One sequence
// numbers awards and moves. The table changes stays empty.
const schema = `
CREATE SEQUENCE IF NOT EXISTS log_version;
CREATE TABLE IF NOT EXISTS pools (id text PRIMARY KEY, version bigint NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS prizes (pool_id text, id text, stocked bigint NOT NULL, issued bigint NOT NULL DEFAULT 0,
	version bigint NOT NULL DEFAULT 0, PRIMARY KEY (pool_id, id));
CREATE TABLE IF NOT EXISTS awards (pool_id text, version bigint PRIMARY KEY DEFAULT nextval('log_version'), draw_id text,
	ordinal int, user_id text, prize_id text, unit bigint, at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE INDEX IF NOT EXISTS awards_draw ON awards (pool_id, draw_id);
CREATE TABLE IF NOT EXISTS moves (pool_id text, version bigint PRIMARY KEY DEFAULT nextval('log_version'), prize_id text,
	delta bigint, reason text, at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE TABLE IF NOT EXISTS changes (pool_id text, version bigint);`

// connectionsMax allows draws to conflict; with the default of four connections they
// hardly would.
const connectionsMax = 32

// Postgres is a Ledger in a PostgreSQL database.
type Postgres struct {
	*pgxpool.Pool
}

// OpenPostgres connects to the database and creates missing tables.
func OpenPostgres(ctx context.Context, url string) (*Postgres, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read the database address: %w", err)
	}
	config.MaxConns = connectionsMax
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	if _, err := pool.Exec(ctx, schema); err != nil {
		pool.Close()
		return nil, fmt.Errorf("make the tables: %w", err)
	}
	return &Postgres{pool}, nil
}

// Create creates a pool with its stock.
func (p *Postgres) Create(ctx context.Context, pool string, prizes []Prize) error {
	return pgx.BeginFunc(ctx, p.Pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO pools (id) VALUES ($1) ON CONFLICT DO NOTHING`, pool)
		if err != nil {
			return fmt.Errorf("add the pool: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return ErrPoolExists
		}
		for _, prize := range prizes {
			_, err := tx.Exec(ctx, `INSERT INTO prizes (pool_id, id, stocked) VALUES ($1, $2, $3)`, pool, prize.ID, prize.Stocked)
			if err != nil {
				return fmt.Errorf("add a prize: %w", err)
			}
		}
		return nil
	})
}

// Stock adds units to a prize in one statement, which is right in every program.
func (p *Postgres) Stock(ctx context.Context, pool string, m Move) error {
	return pgx.BeginFunc(ctx, p.Pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE prizes SET stocked = stocked + $3, version = version + 1 WHERE pool_id = $1 AND id = $2`,
			pool, m.Prize, m.Delta)
		if err != nil {
			return fmt.Errorf("add stock: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return ErrNotFound
		}
		_, err = tx.Exec(ctx, `INSERT INTO moves (pool_id, prize_id, delta, reason) VALUES ($1, $2, $3, $4)`,
			pool, m.Prize, m.Delta, m.Reason)
		return err
	})
}

// Read returns the pool's book from one snapshot.
func (p *Postgres) Read(ctx context.Context, pool string) (Book, error) {
	var book Book
	err := pgx.BeginTxFunc(ctx, p.Pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		var err error
		if book.Prizes, err = Prizes(ctx, tx, pool); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, `SELECT version, at, draw_id, ordinal, user_id, prize_id, unit FROM awards
			WHERE pool_id = $1 ORDER BY version`, pool)
		if book.Awards, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Award]); err != nil {
			return fmt.Errorf("read the awards: %w", err)
		}
		rows, _ = tx.Query(ctx, `SELECT version, at, prize_id, delta, reason FROM moves WHERE pool_id = $1 ORDER BY version`, pool)
		book.Moves, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Move])
		return err
	})
	return book, err
}

// Prizes reads the pool's prizes without a lock. Errors: ErrNotFound.
func Prizes(ctx context.Context, tx pgx.Tx, pool string) ([]Prize, error) {
	rows, _ := tx.Query(ctx, `SELECT id, stocked, issued FROM prizes WHERE pool_id = $1 ORDER BY id`, pool)
	prizes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Prize])
	if err != nil {
		return nil, fmt.Errorf("read the prizes: %w", err)
	}
	if len(prizes) == 0 {
		return nil, ErrNotFound
	}
	return prizes, nil
}

// Known returns the awards of a draw that has already happened, if any.
func Known(ctx context.Context, tx pgx.Tx, r Request) ([]Award, error) {
	rows, _ := tx.Query(ctx, `SELECT version, at, draw_id, ordinal, user_id, prize_id, unit FROM awards
		WHERE pool_id = $1 AND draw_id = $2 ORDER BY ordinal`, r.Pool, r.Key)
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Award])
}

// Record writes one award to the log.
func Record(ctx context.Context, tx pgx.Tx, r Request, ordinal int, prize string, unit int64) (Award, error) {
	a := Award{At: time.Now(), Draw: r.Key, Ordinal: ordinal, User: r.User, Prize: prize, Unit: unit}
	err := tx.QueryRow(ctx, `INSERT INTO awards (pool_id, draw_id, ordinal, user_id, prize_id, unit)
		VALUES ($1, $2, $3, $4, $5, $6) RETURNING version, at`, r.Pool, r.Key, ordinal, r.User, prize, unit).Scan(&a.Version, &a.At)
	return a, err
}

// Draw makes a draw in a transaction.
func (p *Postgres) Draw(ctx context.Context, r Request, draw func(context.Context, pgx.Tx, Request) (Answer, error)) (answer Answer, err error) {
	err = pgx.BeginFunc(ctx, p, func(tx pgx.Tx) error {
		answer, err = draw(ctx, tx, r)
		return err
	})
	return answer, err
}

// ErrConflict ends an attempt because another draw was faster.
var ErrConflict = errors.New("another draw was faster")

// DrawAgain is Draw with at most triesMax attempts; an attempt is repeated after a
// conflict.
func (p *Postgres) DrawAgain(ctx context.Context, r Request, triesMax int, try func(context.Context, pgx.Tx, Request) (Answer, error)) (Answer, error) {
	for range triesMax {
		answer, err := p.Draw(ctx, r, try)
		if !errors.Is(err, ErrConflict) {
			return answer, err
		}
	}
	return Answer{}, ErrContended
}

// DrawLocked draws in a transaction that holds the pool's row from its first
// statement to its end.
func DrawLocked(ctx context.Context, tx pgx.Tx, r Request) (Answer, error) {
	if _, err := tx.Exec(ctx, `SELECT 1 FROM pools WHERE id = $1 FOR UPDATE`, r.Pool); err != nil {
		return Answer{}, err
	}
	return ReadAndWrite(ctx, tx, r)
}

// ReadAndWrite reads the stock, chooses, and writes the new count back. It excludes no
// other draw: it is right only with a lock around it.
func ReadAndWrite(ctx context.Context, tx pgx.Tx, r Request) (answer Answer, err error) {
	if known, err := Known(ctx, tx, r); err != nil || len(known) > 0 {
		return Answer{Awards: known, Replayed: true}, err
	}
	prizes, err := Prizes(ctx, tx, r.Pool)
	if err != nil {
		return answer, err
	}
	for i := range r.Count {
		chosen, err := Pick(prizes)
		if err != nil {
			return answer, err
		}
		prize := &prizes[chosen]
		prize.Issued++
		// The new count is the count that was read plus one, whatever was written
		// since.
		_, err = tx.Exec(ctx, `UPDATE prizes SET issued = $3 WHERE pool_id = $1 AND id = $2`, r.Pool, prize.ID, prize.Issued)
		if err != nil {
			return answer, Busy(err)
		}
		award, err := Record(ctx, tx, r, i+1, prize.ID, prize.Issued)
		if err != nil {
			return answer, err
		}
		answer.Awards = append(answer.Awards, award)
	}
	return answer, nil
}

// Busy turns a deadlock, in which PostgreSQL undid one of two transactions,
// into ErrContended.
func Busy(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "40P01" {
		return ErrContended
	}
	return err
}
