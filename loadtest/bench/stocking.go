package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"filippo.io/age"

	"drawsvc/internal/proof"
	"drawsvc/internal/seal"
	"drawsvc/loadtest/harness"
)

const (
	// plenty is a stock that never runs out.
	plenty = 1_000_000_000
	// prizesUsual is how many prizes a pool has.
	prizesUsual = 10
)

// poolOf returns the pool that a candidate draws from, or the prefix of its pools'
// names.
func poolOf(c candidate) string {
	if c.soldOut {
		return "sold-out"
	}
	return "bench"
}

// stock creates the candidate's pools, unless its database already has them.
func (b *benchmark) stock(ctx context.Context, c candidate, p *spot, i *harness.Process) error {
	if p.stocked {
		return nil
	}
	p.stocked = true
	if c.pools > 0 {
		return b.stockMany(ctx, c, i)
	}
	if c.soldOut {
		b.whole.Must(createPool(ctx, i, poolOf(c), harness.TenPrizes(1)...))
		_, err := b.drawOnce(ctx, i, poolOf(c), prizesUsual)
		return err
	}
	prizes := harness.TenPrizes(plenty)
	for n := range prizes {
		if c.codes {
			prizes[n].Stock, prizes[n].Codes = 0, true
		}
	}
	if c.imports() {
		prizes = append(prizes, harness.Prize{ID: codedPrize, Name: "Coded", Value: "1.00", Codes: true})
	}
	b.whole.Must(createPool(ctx, i, poolOf(c), prizes...))
	b.whole.Must(setRules(ctx, c, i, poolOf(c)))
	b.whole.Must(commitPool(ctx, c, i, poolOf(c)))
	if c.prizes == 0 && c.awards == 0 && !c.codes {
		return nil
	}
	begin := time.Now()
	if c.codes {
		b.whole.Must(b.stockCodes(ctx, c, p, i))
	}
	if c.expires() {
		b.whole.Must(enableExpiry(ctx, i, false)) // the job is off until it is measured
	}
	b.whole.Must(fill(ctx, c, p.url))
	fmt.Fprintf(b.out, "(filled in %v) ", time.Since(begin).Round(time.Second))
	return b.settle(ctx)
}

// codesPerSecond is more than any service draws in a second.
const codesPerSecond = 60_000

// stockCodes stocks the prizes with units that have codes: as many as the filling has
// awards, or as many as can be drawn in a measurement.
func (b *benchmark) stockCodes(ctx context.Context, c candidate, p *spot, i *harness.Process) error {
	seconds := b.warmUp + b.seconds
	if b.countsTrips() {
		seconds += 2 * tripSeconds
	}
	each := cmp.Or(c.awards, seconds*codesPerSecond) / prizesUsual
	of := func(n int) string { return fmt.Sprintf("%s/admin/pools/%s/prizes/prize-%d", i.URL, poolOf(c), n) }
	for n := range prizesUsual {
		if err := send(ctx, of(n)+"/codes?reserve=true", "text/plain", fmt.Sprintf("BENCH-%010d", n), http.StatusCreated); err != nil {
			return err
		}
	}
	if err := fillCodes(ctx, p.url, poolOf(c), b.sealKey, each); err != nil {
		return fmt.Errorf("add codes: %w", err)
	}
	for n := range prizesUsual {
		if _, err := harness.Operate(ctx, http.MethodPost, of(n)+"/stock", fmt.Sprintf(`{"delta":%d,"reason":"bench"}`, each), http.StatusOK); err != nil {
			return err
		}
	}
	return nil
}

const makersMax = 16

func (b *benchmark) stockMany(ctx context.Context, c candidate, i *harness.Process) error {
	var makers sync.WaitGroup
	names, errs := make(chan string), make(chan error, c.pools)
	for range makersMax {
		makers.Go(func() {
			for name := range names {
				errs <- createPool(ctx, i, name, harness.TenPrizes(plenty)...)
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

func createPool(ctx context.Context, i *harness.Process, id string, prizes ...harness.Prize) error {
	return harness.MakePool(ctx, i.URL, harness.Pool{ID: id, Name: "Bench", Prizes: prizes})
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

// firstDraw makes each instance read the pool, which takes long for a pool of many
// prizes.
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

// usersNew gives every request a new user.
const usersNew = "new"

// rules are the rules of a candidate's pool, "" for none.
type rules string

const (
	// rulesWin sends one draw in two to the urn, and the other to the fallback.
	rulesWin rules = "win 1/2"
	// rulesOnce is for new users: no draw is refused.
	rulesOnce rules = "one draw a user"
	// rulesDaily is a limit per day for few users that is never reached: the rows that
	// are read and written are the same for a limit of 3 as for a million.
	rulesDaily rules = "a limit a day"
	// rulesMany has the counting rules of a campaign: limits of draws, of wins and of a
	// prize, and a guarantee after misses in a row. No limit is ever reached.
	rulesMany rules = "four limits and a guarantee"
	// rulesRefused is for one user: every draw after the first is refused.
	rulesRefused rules = "all refused"
	// rulesClaim requires that each award is claimed within an hour.
	rulesClaim rules = "a claim needed"
)

func (r rules) document() string {
	limits := map[rules]string{
		rulesOnce: `{"of":"draws","max":1}`, rulesRefused: `{"of":"draws","max":1}`,
		rulesDaily: `{"of":"draws","max":1000000,"per":"day"}`,
	}
	others := map[rules]string{
		rulesMany: `{"fallback":"none","guarantee":{"after":100000,"prize":"prize-0"},"limits":[{"of":"draws","max":1000000,"per":"day"},` +
			`{"of":"draws","max":1000000},{"of":"wins","max":1000000,"per":"week"},{"of":"prize","prize":"prize-1","max":1000000,"per":"24h"}]}`,
		rulesWin: `{"fallback":"none","win":"1/2"}`, rulesClaim: `{"claims":{"within":"1h"}}`,
	}
	return cmp.Or(others[r], `{"limits":[`+limits[r]+`]}`)
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

// makeKeyFlags creates the key files. It sets seedFlags, for services with committed
// pools, and sealFlags, for services that seal codes. They are the same for a whole run,
// because one process may create a pool and another draw from it.
func (b *benchmark) makeKeyFlags() {
	if b.seedFlags != nil {
		return
	}
	identity, err := age.GenerateX25519Identity()
	b.whole.Must(err)
	line, err := seal.NewLine("k1")
	b.whole.Must(err)
	ring, err := seal.ParseKeys([]byte(line))
	b.whole.Must(err)
	folder := b.whole.TempDir()
	var flags []string
	for _, f := range []struct{ flag, text string }{
		{"seed-identity-file", identity.String()}, {"seed-recipients", identity.Recipient().String()}, {"seal-keys", line},
	} {
		path := filepath.Join(folder, f.flag)
		b.whole.Must(os.WriteFile(path, []byte(f.text+"\n"), 0o600))
		flags = append(flags, "--"+f.flag, path)
	}
	b.seedFlags, b.sealFlags, b.sealKey = flags[:4:4], flags[4:], ring.First()
}

// commitPool commits a candidate's pool, if the candidate requires it.
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

// publisher is a process that publishes a candidate's pool live, next to the service on
// the same machine.
type publisher struct {
	process *harness.Process
	dir     string
}

// publish starts the publisher of a candidate; it returns nil if the candidate has
// none.
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

// follows returns an error unless the publisher runs and has signed at least a quarter of
// the awards of the measured seconds. A publisher that lags costs less than it should.
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
