package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
	"drawsvc/loadtest/report"
)

type settings struct {
	awards, callers int
	only            *regexp.Regexp
	// doc means that the page is filled with the published results, and nothing is
	// measured.
	doc bool
}

func main() { harness.Main("capacity", parse, run) }

func parse(args []string) (s settings, err error) {
	flags := flag.NewFlagSet("capacity", flag.ContinueOnError)
	flags.IntVar(&s.awards, "awards", 200_000, "awards to draw for each row, 1000 or more; the table is of a million")
	flags.IntVar(&s.callers, "callers", 128, "callers at once, which is about the size of a batch")
	s.only = harness.Only(flags, "measure only the rows, such as `postgres, random keys`,")
	do, args := harness.Command(args, "doc")
	s.doc = do != ""
	if err = harness.Parse(flags, args); err == nil && (s.awards < 1000 || s.callers < 1) {
		err = errors.New("--awards is 1000 or more, --callers 1 or more")
	}
	return s, err
}

const bin = place.Bin + "/capacity"

// run measures, publishes if every row was measured, and fills the page.
func run(ctx context.Context, s settings, out io.Writer) error {
	if !s.doc {
		p, err := measureAll(ctx, s, out)
		if err != nil || len(p.Rows) < rowsAll {
			return err // an incomplete result is printed, and not published
		}
		if err := report.Write(results, "published", p, p.markdown()); err != nil {
			return err
		}
	}
	return fill(".")
}

// measureAll prints a row for each database and each kind of key.
func measureAll(ctx context.Context, s settings, out io.Writer) (p published, err error) {
	begun := time.Now()
	if err = place.Build(ctx, bin, place.Service()); err != nil {
		return p, err
	}
	p.Awards = s.awards
	harness.Say(out, "%s", report.Row(strings.Split(heads, " | ")...))
	for _, database := range []string{"postgres", "mysql", "sqlite"} {
		for _, keys := range []string{keysOfService, keysRandom} {
			name := database + ", " + keys
			if !s.only.MatchString(name) {
				continue
			}
			skipped, err := harness.Try(name, func(site *harness.Site) error {
				took, err := measure(ctx, site, s, database, keys)
				if err != nil {
					return err
				}
				took.Name = place.Of(database).Name + ", " + keys
				p.Rows = append(p.Rows, took)
				harness.Say(out, "%s", p.table().Last())
				return nil
			})
			if err != nil {
				return p, fmt.Errorf("%s: %w", name, err)
			}
			if skipped != "" {
				harness.Say(out, "%s SKIPPED: %s\n", name, skipped)
			}
		}
	}
	p.Stand = report.NewStand(false, time.Since(begun), nil)
	return p, nil
}

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
	service, err := harness.Launch(ctx, site, filepath.Join(bin, "drawsvc"), place.ServeArgs("127.0.0.1:0", url, "for-update")...)
	site.Must(err)
	db, err := place.Open(url, "mode=ro")
	site.Must(err)
	defer func() { _ = db.Close() }()
	site.Must(harness.MakePool(ctx, service.URL, harness.Pool{ID: pool, Name: "Capacity", Prizes: harness.TenPrizes(int64(s.awards))}))
	was, err := sizes()[database](ctx, db, url)
	site.Must(err)
	site.Must(drawAll(ctx, service.URL, s, keys))
	if err := service.Stop(); err != nil { // SQLite's log is then in its file
		return grown{}, err
	}
	is, err := sizes()[database](ctx, db, url)
	return is.less(was), err
}

func drawAll(ctx context.Context, at string, s settings, keys string) error {
	own := &http.Transport{MaxIdleConnsPerHost: s.callers, MaxConnsPerHost: s.callers, ResponseHeaderTimeout: 20 * time.Second}
	defer own.CloseIdleConnections()
	var drawn atomic.Int64
	callers, ctx := errgroup.WithContext(harness.Through(ctx, own))
	for range s.callers {
		callers.Go(func() error {
			for n := drawn.Add(1); n <= int64(s.awards); n = drawn.Add(1) {
				if err := drawOne(ctx, at, n, keys); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return callers.Wait()
}

func drawOne(ctx context.Context, at string, n int64, keys string) error {
	body := fmt.Sprintf(`{"pool":%q,"user":"user-%06d"}`, pool, n%500_000)
	var headers []string
	if keys == keysRandom {
		headers = []string{"Idempotency-Key", uuid.NewString()}
	}
	_, status, err := harness.Call(ctx, http.MethodPost, at+"/draw", body, headers...)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("draw %d: %d", n, status)
	}
	return err
}

// sizes returns, by kind of database, how to read its bytes.
func sizes() map[string]func(ctx context.Context, db *sql.DB, url string) (grown, error) {
	return map[string]func(ctx context.Context, db *sql.DB, url string) (grown, error){
		"postgres": func(ctx context.Context, db *sql.DB, _ string) (b grown, err error) {
			err = db.QueryRowContext(ctx, `SELECT pg_table_size('awards'), pg_indexes_size('awards'), pg_database_size(current_database()),
				(pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint`).Scan(&b.Table, &b.Indexes, &b.All, &b.Log)
			return b, err
		},
		"mysql": func(ctx context.Context, db *sql.DB, _ string) (b grown, err error) {
			// The last pages are written out, and the statistics are updated.
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
