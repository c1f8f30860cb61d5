package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"drawsvc/loadtest/harness"
)

// task is work that is timed instead of draws, "" for none.
type task string

const (
	taskClaims task = "claims of 32 callers"
	taskImport task = "import of codes"
	taskExpiry task = "expiry"
	taskFulfil task = "file of fulfilments"
	taskRelay  task = "relay to a receiver of 10 ms"
	taskIdle   task = "hook when idle"
	taskKilled task = "hook after a kill"
	taskAudit  task = "audit"
)

// isPaid reports whether a candidate's service needs a seal key, and sends hooks.
func (c candidate) isPaid() bool { return c.codes || c.beside != "" || c.task != "" }

// imports reports whether codes are imported, and expires whether the awards of the
// filling are past their deadline.
func (c candidate) imports() bool { return c.beside == besideImport || c.task == taskImport }
func (c candidate) expires() bool { return c.beside == besideExpiry || c.task == taskExpiry }

// do does a task, and notes its figures.
func (w *workplace) do(ctx context.Context) error {
	switch w.c.task {
	case taskClaims:
		return w.doClaims(ctx)
	case taskImport:
		if err := w.i.Stop(); err != nil { // only one process may use an SQLite file
			return err
		}
		return w.importCodes(ctx, w.s.TempDir(), w.f)
	case taskExpiry:
		db := w.open()
		return w.timed(ctx, func() error { return w.expire(ctx) }, func() (bool, error) {
			n, err := count(ctx, db, stepsSQL)
			return n >= int64(w.c.awards), err
		})
	case taskFulfil:
		return w.doFulfil(ctx)
	case taskAudit:
		return w.run(ctx, w.f, append([]string{"audit", "--database", w.p.url, "--pool", poolOf(w.c)}, w.sealFlags...)...)
	case taskRelay, taskIdle, taskKilled:
		return w.doHook(ctx)
	}
	return fmt.Errorf("task %q is unknown", w.c.task)
}

const (
	pollEvery = 5 * time.Millisecond
	// taskMax is the maximum time of a task that waits for something.
	taskMax = 20 * time.Minute
)

// timed records the time from begin until isDone reports true.
func (w *workplace) timed(ctx context.Context, begin func() error, isDone func() (bool, error)) error {
	begun := time.Now()
	err, done := begin(), false
	for err == nil && !done {
		if err = ctx.Err(); err == nil && time.Since(begun) > taskMax {
			err = fmt.Errorf("not done after %v", taskMax)
		}
		if err == nil {
			time.Sleep(pollEvery)
			done, err = isDone()
		}
	}
	w.f[took] = max(w.f[took], time.Since(begun).Seconds())
	return err
}

func (w *workplace) doClaims(ctx context.Context) error {
	draws := w.column(w.open(), `SELECT draw_id FROM awards ORDER BY version`)
	bounded, end := context.WithTimeout(ctx, time.Duration(w.seconds)*time.Second)
	defer end()
	var done atomic.Int64
	err := claim(bounded, w.i.URL, draws, 0, &done)
	w.f[perSecond] = float64(done.Load()) / float64(w.seconds)
	return err
}

// doFulfil sends a file that fulfils all awards.
func (w *workplace) doFulfil(ctx context.Context) error {
	var file strings.Builder
	file.WriteString("award,to,reference\n")
	for _, version := range w.column(w.open(), `SELECT version FROM awards`) {
		fmt.Fprintf(&file, "%s,fulfilled,DHL %s\n", version, version)
	}
	return w.timed(ctx, func() error {
		return send(ctx, w.i.URL+"/admin/pools/"+poolOf(w.c)+"/steps", "text/csv", file.String(), http.StatusOK)
	}, func() (bool, error) { return true, nil })
}

// receiver receives webhooks.
type receiver struct{ events atomic.Int64 }

// receive adds a hook whose receiver takes the given time for each message.
func (w *workplace) receive(ctx context.Context, from string, each time.Duration) *receiver {
	r := &receiver{}
	at := harness.Serve(w.s, http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		text, _ := io.ReadAll(request.Body) // a message that was cut is sent again
		time.Sleep(each)
		r.events.Add(int64(bytes.Count(text, []byte(`"type":"award.`))))
	}))
	_, err := harness.Operate(ctx, http.MethodPost, w.i.URL+"/admin/hooks", fmt.Sprintf(`{"url":"http://%s/","from":%q}`, at, from), http.StatusCreated)
	w.s.Must(err)
	return r
}

// receiverTakes is how long a receiver takes for a message.
const receiverTakes = 10 * time.Millisecond

func (w *workplace) doHook(ctx context.Context) error {
	nothing := func() error { return nil }
	if w.c.task == taskRelay {
		r := w.receive(ctx, "start", receiverTakes)
		if err := w.timed(ctx, nothing, func() (bool, error) { return r.events.Load() > 0, nil }); err != nil {
			return err
		}
		delete(w.f, took)
		first, begun := r.events.Load(), time.Now()
		err := w.timed(ctx, nothing, func() (bool, error) {
			return r.events.Load() >= int64(w.c.awards) || time.Since(begun) > time.Duration(w.seconds)*time.Second, nil
		})
		w.f[perSecond] = float64(r.events.Load()-first) / w.f[took]
		delete(w.f, took)
		return err
	}
	r := w.receive(ctx, "now", 0)
	arrives := func(i *harness.Process) error {
		known := r.events.Load()
		return w.timed(ctx, func() error {
			if i != w.i {
				w.i.Kill()
			}
			_, err := w.drawOnce(ctx, i, poolOf(w.c), 1)
			return err
		}, func() (bool, error) { return r.events.Load() > known, nil })
	}
	if err := arrives(w.i); err != nil { // now the job of hooks runs on this instance
		return err
	}
	if w.c.task == taskKilled {
		next, err := w.start(ctx, w.s, w.c, w.p.url)
		if err != nil {
			return err
		}
		delete(w.f, took)
		return arrives(next[0])
	}
	delete(w.f, took)
	for range w.seconds {
		time.Sleep(rand.N(time.Second)) // at any moment between two polls
		if err := arrives(w.i); err != nil {
			return err
		}
	}
	return nil
}
