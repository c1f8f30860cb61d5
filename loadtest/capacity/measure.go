package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
)

// The kinds of keys.
const (
	keysOfService = "no keys (the service makes UUIDv7)"
	keysRandom    = "random keys"
)

const pool = "capacity"

func measure(ctx context.Context, site *harness.Site, s settings, database, keys string) (grown, error) {
	url := "sqlite:" + filepath.Join(site.TempDir(), "draws.db")
	if database != "sqlite" {
		url = servertest.Start(site, database, servertest.Roomy()).URL()
	}
	service, err := harness.Launch(ctx, site, filepath.Join(bin, "drawsvc"), harness.ServeArgs("127.0.0.1:0", url, "for-update")...)
	if err != nil {
		return grown{}, err
	}
	db, err := harness.OpenDatabase(url, "mode=ro")
	if err != nil {
		return grown{}, err
	}
	defer func() { _ = db.Close() }()
	if err := harness.MakePool(ctx, service.URL, harness.Pool{ID: pool, Name: "Capacity", Prizes: harness.TenPrizes(int64(s.awards))}); err != nil {
		return grown{}, err
	}
	was, err := sizes()[database](ctx, db, url)
	if err != nil {
		return grown{}, err
	}
	if err := drawAll(ctx, service.URL, s, keys); err != nil {
		return grown{}, err
	}
	if err := service.Stop(); err != nil { // SQLite's log is then in its file
		return grown{}, err
	}
	is, err := sizes()[database](ctx, db, url)
	return is.less(was), err
}

func drawAll(ctx context.Context, at string, s settings, keys string) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: s.callers, MaxConnsPerHost: s.callers}, Timeout: 20 * time.Second}
	defer client.CloseIdleConnections()
	var drawn atomic.Int64
	callers, ctx := errgroup.WithContext(ctx)
	for range s.callers {
		callers.Go(func() error {
			for n := drawn.Add(1); n <= int64(s.awards); n = drawn.Add(1) {
				if err := drawOne(ctx, client, at, n, keys); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return callers.Wait()
}

func drawOne(ctx context.Context, client *http.Client, at string, n int64, keys string) error {
	body := fmt.Sprintf(`{"pool":%q,"user":"user-%06d"}`, pool, n%500_000)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at+"/draw", strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+harness.DrawToken)
	if keys == keysRandom {
		request.Header.Set("Idempotency-Key", uuid.NewString())
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("draw %d: %s", n, response.Status)
	}
	return nil
}

// sizes ask each database for its bytes.
func sizes() map[string]func(ctx context.Context, db *sql.DB, url string) (grown, error) {
	return map[string]func(ctx context.Context, db *sql.DB, url string) (grown, error){
		"postgres": func(ctx context.Context, db *sql.DB, _ string) (b grown, err error) {
			err = db.QueryRowContext(ctx, `SELECT pg_table_size('awards'), pg_indexes_size('awards'), pg_database_size(current_database()),
				(pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint`).Scan(&b.Table, &b.Indexes, &b.All, &b.Log)
			return b, err
		},
		"mysql": func(ctx context.Context, db *sql.DB, _ string) (b grown, err error) {
			// The last pages are written out, and the statistics are those of now.
			for _, text := range []string{"ANALYZE TABLE awards", "FLUSH TABLES"} {
				if _, err := db.ExecContext(ctx, text); err != nil {
					return b, fmt.Errorf("%s: %w", text, err)
				}
			}
			err = db.QueryRowContext(ctx, `SELECT data_length, index_length, data_length + index_length,
				(SELECT CAST(variable_value AS SIGNED) FROM information_schema.global_status WHERE variable_name = 'INNODB_OS_LOG_WRITTEN')
				FROM information_schema.tables WHERE table_schema = database() AND table_name = 'awards'`).Scan(&b.Table, &b.Indexes, &b.All, &b.Log)
			return b, err
		},
		"sqlite": func(_ context.Context, _ *sql.DB, url string) (b grown, err error) {
			info, err := os.Stat(strings.TrimPrefix(url, "sqlite:"))
			if err != nil {
				return b, err
			}
			b.All = info.Size()
			return b, nil
		},
	}
}
