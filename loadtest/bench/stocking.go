package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"filippo.io/age"

	"drawsvc/internal/proof"
	"drawsvc/loadtest/harness"
)

const (
	// plenty is the stock of a prize that does not run out.
	plenty = 1_000_000_000
	// prizesUsual is how many prizes a pool has.
	prizesUsual = 10
)

// poolOf is the pool that a candidate draws from, or what the names of its
// pools begin with.
func poolOf(c candidate) string {
	if c.soldOut {
		return "sold-out"
	}
	return "bench"
}

// stock makes the candidate's pools, where its place has none yet.
func (b *benchmark) stock(ctx context.Context, c candidate, p *spot, i *harness.Process) error {
	if p.stocked {
		return nil
	}
	p.stocked = true
	if c.pools > 0 {
		return b.stockMany(ctx, c, i)
	}
	if c.soldOut {
		b.whole.Must(createPool(ctx, i, poolOf(c), 1))
		_, err := b.drawOnce(ctx, i, poolOf(c), prizesUsual)
		return err
	}
	b.whole.Must(createPool(ctx, i, poolOf(c), plenty))
	b.whole.Must(setRules(ctx, c, i, poolOf(c)))
	b.whole.Must(commitPool(ctx, c, i, poolOf(c)))
	if c.prizes == 0 && c.awards == 0 {
		return nil
	}
	begin := time.Now()
	b.whole.Must(fill(ctx, c, p.url))
	fmt.Fprintf(b.out, "(filled in %v) ", time.Since(begin).Round(time.Second))
	return b.settle(ctx)
}

const makersMax = 16

func (b *benchmark) stockMany(ctx context.Context, c candidate, i *harness.Process) error {
	var makers sync.WaitGroup
	names, errs := make(chan string), make(chan error, c.pools)
	for range makersMax {
		makers.Go(func() {
			for name := range names {
				errs <- createPool(ctx, i, name, plenty)
			}
		})
	}
	for n := range c.pools {
		names <- fmt.Sprintf("%s-%d", poolOf(c), n+1)
	}
	close(names)
	makers.Wait()
	for range c.pools {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

func createPool(ctx context.Context, i *harness.Process, id string, stock int64) error {
	return harness.MakePool(ctx, i.URL, harness.Pool{ID: id, Name: "Bench", Prizes: harness.TenPrizes(stock)})
}

func (b *benchmark) drawOnce(ctx context.Context, i *harness.Process, pool string, count int) (time.Duration, error) {
	b.seed++
	body := fmt.Sprintf(`{"pool":%q,"user":"user-12345","count":%d}`, pool, count)
	begin := time.Now()
	answer, status, err := harness.Call(ctx, http.MethodPost, i.URL+"/draw", body, "Idempotency-Key", fmt.Sprintf("once-%d", b.seed))
	if err == nil && status != http.StatusOK && status != http.StatusConflict {
		err = fmt.Errorf("a draw is answered %d: %s", status, answer)
	}
	return time.Since(begin), err
}

// firstDraw has each instance read the pool: one of many prizes takes its time.
func (b *benchmark) firstDraw(ctx context.Context, c candidate, instances []*harness.Process) (time.Duration, error) {
	pool := poolOf(c)
	if c.pools > 0 {
		pool += "-1"
	}
	var longest time.Duration
	for _, i := range instances {
		took, err := b.drawOnce(ctx, i, pool, 1)
		if err != nil {
			return 0, err
		}
		longest = max(longest, took)
	}
	return longest, nil
}

// usersNew has every request come from a user of its own.
const usersNew = "new"

// rules are those of a candidate's pool, "" for none.
type rules string

const (
	// rulesWin has one draw in two go to the urn, and the other to the fallback.
	rulesWin rules = "win 1/2"
	// rulesOnce is for new users: nobody is refused.
	rulesOnce rules = "one draw a user"
	// rulesDaily counts days of few users, and is never reached: the same rows are
	// read and written for 3 a day as for a million.
	rulesDaily rules = "a limit a day"
	// rulesRefused is for one user, whose first draw is the last.
	rulesRefused rules = "all refused"
)

func (r rules) document() string {
	limits := map[rules]string{
		rulesOnce: `{"of":"draws","max":1}`, rulesRefused: `{"of":"draws","max":1}`,
		rulesDaily: `{"of":"draws","max":1000000,"per":"day"}`,
	}
	if r == rulesWin {
		return `{"fallback":"none","win":"1/2"}`
	}
	return `{"limits":[` + limits[r] + `]}`
}

func setRules(ctx context.Context, c candidate, i *harness.Process, pool string) error {
	if c.rules == "" {
		return nil
	}
	for _, call := range []struct {
		method, path, body string
		status             int
	}{
		{http.MethodPost, "/prizes", `{"id":"none","name":"No win","kind":"blank"}`, http.StatusCreated},
		{http.MethodPut, "/rules", c.rules.document(), http.StatusOK},
	} {
		if _, err := harness.Operate(ctx, call.method, i.URL+"/admin/pools/"+pool+call.path, call.body, call.status); err != nil {
			return err
		}
	}
	return nil
}

// makeSeedFlags makes the flags of services whose pools are committed to their
// numbers: the files of a recipient and of its identity, the same for a whole run,
// because a pool may be made by one process and drawn from by another.
func (b *benchmark) makeSeedFlags() {
	if b.seedFlags != nil {
		return
	}
	identity, err := age.GenerateX25519Identity()
	b.whole.Must(err)
	folder := b.whole.TempDir()
	for _, f := range []struct{ flag, text string }{
		{"seed-identity-file", identity.String()}, {"seed-recipients", identity.Recipient().String()},
	} {
		path := filepath.Join(folder, f.flag)
		b.whole.Must(os.WriteFile(path, []byte(f.text+"\n"), 0o600))
		b.seedFlags = append(b.seedFlags, "--"+f.flag, path)
	}
}

// commitPool commits a candidate's pool, where it is to be.
func commitPool(ctx context.Context, c candidate, i *harness.Process, pool string) error {
	if !c.committed {
		return nil
	}
	for _, call := range []struct {
		method, path, body string
		status             int
	}{
		{http.MethodPatch, "", `{"state":"paused"}`, http.StatusOK},
		{http.MethodPost, "/commitment", fmt.Sprintf(`{"receipts":%t}`, c.receipts), http.StatusCreated},
		{http.MethodPatch, "", `{"state":"open"}`, http.StatusOK},
	} {
		if _, err := harness.Operate(ctx, call.method, i.URL+"/admin/pools/"+pool+call.path, call.body, call.status); err != nil {
			return err
		}
	}
	return nil
}

// publisher is a process that publishes a candidate's pool live, beside the service
// and on the same machine.
type publisher struct {
	process *harness.Process
	dir     string
}

// publish starts the publisher of a candidate, nil where it has none.
func (b *benchmark) publish(s *harness.Site, c candidate, database string) *publisher {
	if !c.published {
		return nil
	}
	dir := s.TempDir()
	args := append([]string{"publish", "--database", database, "--dir", dir, "--publish-entries", "live"}, b.seedFlags[:2]...)
	process, err := harness.Start(nil, nil, b.program(c), args...)
	s.Must(err)
	s.Cleanup(process.Kill)
	return &publisher{process, filepath.Join(dir, poolOf(c))}
}

// follows reports whether the publisher runs, and has signed at least a quarter of what
// was drawn in the measured seconds: one that falls behind costs less than it has to.
func (p *publisher) follows(f figures, seconds int) error {
	if p == nil {
		return nil
	}
	if ended, err := p.process.Ended(); ended {
		return fmt.Errorf("the publisher ended: %w\n%s", err, p.process.Output)
	}
	checkpoint, err := os.ReadFile(filepath.Join(p.dir, "checkpoint"))
	if err != nil {
		return err
	}
	c, err := proof.ReadCheckpoint(checkpoint)
	if drawn := f[perSecond] * float64(seconds); err == nil && float64(c.Size) < drawn/4 {
		err = fmt.Errorf("the publisher has signed %d entries, and %.0f draws were made in the measurement alone", c.Size, drawn)
	}
	return err
}
