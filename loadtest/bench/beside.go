package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
)

// beside is other work on the pool during the measured draws, "" for none.
type beside string

const (
	besideClaims beside = "beside 500 claims/s"
	besideImport beside = "beside an import"
	besideExpiry beside = "beside an expiry"
	besideHook   beside = "beside a hook"
)

// workplace holds what the measurement of one candidate uses: its site, database, running
// service and figures.
type workplace struct {
	*benchmark
	s *harness.Site
	c candidate
	p *spot
	i *harness.Process
	f figures
}

const (
	stepsSQL  = `SELECT COALESCE(SUM(n), 0) FROM step_heads`
	placesSQL = `SELECT COALESCE(SUM(places), 0) FROM code_heads`
)

// begin starts the work beside the draws. end ends it, and records how much was done. It
// is an error if no work was done, or if no work was left to do.
func (w *workplace) begin(ctx context.Context) (end func() error) {
	if w.c.beside == "" {
		return func() error { return nil }
	}
	ctx, stop := context.WithCancel(ctx)
	w.s.Cleanup(stop)
	db := w.open()
	counted, all := stepsSQL, int64(w.c.awards)
	received := new(receiver)
	var work func() error
	switch w.c.beside {
	case besideClaims:
		draws := w.column(db, `SELECT draw_id FROM awards ORDER BY version`)
		work = func() error { return claim(ctx, w.i.URL, draws, claimsBeside, nil) }
	case besideImport:
		counted, all = placesSQL, plenty
		folder := w.s.TempDir()
		work = func() error { return w.importAgain(ctx, folder) }
	case besideExpiry:
		work = func() error { return w.expire(ctx) }
	case besideHook:
		received, all = w.receive(ctx, "now", 0), plenty
		work = func() error { return nil }
	}
	result := make(chan error, 1)
	go func() { result <- work() }()
	before := int64(0)
	if w.c.beside == besideImport {
		before = w.awaitCodes(ctx, db, result)
	}
	begun := time.Now()
	return func() error {
		n, err := count(ctx, db, counted)
		n += received.events.Load() - before
		w.f[besideRate] = float64(n) / time.Since(begun).Seconds()
		stop()
		if err := errors.Join(err, <-result); err != nil {
			return fmt.Errorf("%s: %w", w.c.beside, err)
		}
		if n == 0 || n >= all {
			return fmt.Errorf("%s: %d were done until the draws ended: none, or all", w.c.beside, n)
		}
		return nil
	}
}

// awaitCodes waits until an import writes codes, and returns their number. The import
// checks its file before it writes. While nobody draws, it does not rest between its
// parts.
func (w *workplace) awaitCodes(ctx context.Context, db *sql.DB, ended <-chan error) int64 {
	for {
		n, err := count(ctx, db, placesSQL)
		w.s.Must(err)
		if n > 0 {
			return n
		}
		select {
		case err := <-ended:
			w.s.Fatal("the import ended before it wrote: ", err)
		case <-time.After(pollEvery):
		}
	}
}

// open opens the candidate's database beside the service.
func (w *workplace) open() *sql.DB { return w.s.Opened(place.Open(w.p.url)) }

func count(ctx context.Context, db *sql.DB, text string) (n int64, err error) {
	return n, db.QueryRowContext(ctx, text).Scan(&n)
}

// column reads a column as texts.
func (w *workplace) column(db *sql.DB, text string) (list []string) {
	rows, err := db.QueryContext(w.s.Context(), text)
	w.s.Must(err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var value string
		w.s.Must(rows.Scan(&value))
		list = append(list, value)
	}
	w.s.Must(rows.Err())
	return list
}

const (
	// claimers is the number of concurrent callers that claim.
	claimers = 32
	// claimsBeside is the number of claims per second while draws are measured.
	claimsBeside = 500
)

// claim claims draws until ctx ends, perSecond of them in each second. If perSecond is 0,
// it claims as many as the callers can. If done is not nil, it counts the claims.
func claim(ctx context.Context, url string, draws []string, perSecond int, done *atomic.Int64) error {
	transport := &http.Transport{MaxIdleConnsPerHost: claimers}
	defer transport.CloseIdleConnections()
	callers, calls := errgroup.WithContext(harness.Through(ctx, transport))
	var next atomic.Int64
	begun := time.Now()
	for range claimers {
		callers.Go(func() error {
			for calls.Err() == nil {
				k := int(next.Add(1)) - 1
				if k >= len(draws) {
					return errors.New("no draw is left to claim")
				}
				if perSecond > 0 {
					time.Sleep(time.Until(begun.Add(time.Duration(k) * time.Second / time.Duration(perSecond))))
				}
				err := send(calls, url+"/pools/bench/draws/"+draws[k]+"/claim", "application/json", `{"user":"user-12345"}`, http.StatusOK)
				if err == nil && done != nil {
					done.Add(1)
				}
				if err = unlessEnded(calls, err); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return callers.Wait()
}

// unlessEnded returns the error of a call, or nil if the context has ended, because the
// call then fails as expected.
func unlessEnded(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

// send posts a body of any length, without a time limit.
func send(ctx context.Context, at, kind, body string, want int) error {
	text, status, err := harness.Call(ctx, http.MethodPost, at, body, "Content-Type", kind)
	if err == nil && status != want {
		err = fmt.Errorf("POST %s is answered %d: %.300s", at, status, text)
	}
	return err
}

// importAgain imports files of codes into the reserve, one after another until ctx ends.
func (w *workplace) importAgain(ctx context.Context, folder string) error {
	var err error
	for err == nil && ctx.Err() == nil {
		err = w.importCodes(ctx, folder, figures{}, "--reserve")
	}
	return unlessEnded(ctx, err)
}

// codedPrize is the prize that gets the codes of an import.
const codedPrize = "coded"

// importCodes imports a file of new codes on the database.
func (w *workplace) importCodes(ctx context.Context, folder string, f figures, more ...string) error {
	series, text := time.Now().UnixMilli()%(1<<32), make([]byte, 0, w.codes*17)
	for n := range w.codes {
		text = fmt.Appendf(text, "%08X%08X\n", series, n)
	}
	file := filepath.Join(folder, "codes.txt")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	args := slices.Concat([]string{"codes", "import", "--database", w.p.url, "--pool", poolOf(w.c), "--prize", codedPrize}, w.sealFlags, more)
	return w.run(ctx, f, append(args, file)...)
}

// run runs a command of the program, and notes how long it takes and its peak memory.
func (w *workplace) run(ctx context.Context, f figures, args ...string) error {
	begun := time.Now()
	p, err := harness.Start(nil, nil, w.program(w.c), args...)
	if err != nil {
		return err
	}
	for ; ; time.Sleep(pollEvery) {
		ended, err := p.Ended()
		f[took] = time.Since(begun).Seconds()
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w\n%s", args[0], err, p.Output)
		case ended:
			return nil
		case ctx.Err() != nil:
			p.Kill()
			return ctx.Err()
		}
		if peak, err := peakOf(p.PID()); err == nil { // the memory cannot be read while the command ends
			f[memory] = max(f[memory], float64(peak)/1e6)
		}
	}
}

// expire enables the job that ends awards, and runs it now.
func (w *workplace) expire(ctx context.Context) error {
	if err := enableExpiry(ctx, w.i, true); err != nil {
		return err
	}
	_, err := harness.Operate(ctx, http.MethodPost, w.i.URL+claimsJob+"/run", "", http.StatusAccepted)
	return err
}

const claimsJob = "/admin/jobs/claims"

func enableExpiry(ctx context.Context, i *harness.Process, on bool) error {
	_, err := harness.Operate(ctx, http.MethodPatch, i.URL+claimsJob, fmt.Sprintf(`{"enabled":%t}`, on), http.StatusOK)
	return err
}
