package experiments

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"filippo.io/age"

	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// The committed pool and its awards: all, and those of the quick run.
const (
	committedPool  = "committed"
	committedAll   = 1_000_000
	committedQuick = 20_000
)

// seedIdentity and seedRecipients are where the instances find their keys.
const (
	seedIdentity   = stage.Bin + "/seed-identity"
	seedRecipients = stage.Bin + "/seed-recipients"
)

// committedFaults are those of pools that are committed to their numbers.
func committedFaults() []Experiment {
	return []Experiment{committed("a million committed awards, killed and changed", committedAll), committed("committed awards, killed and changed", committedQuick)}
}

// committed draws units of one committed pool, under rules of every kind, while
// instances are killed, stock moves, prizes come, and rules and modes change. Then
// the pool is closed and revealed, and both verifiers recompute its draws.
func committed(name string, units int64) Experiment {
	e := Experiment{
		Name: name, places: everywhere(3), own: true, timeout: edgeTimeout, Longest: 20 * time.Minute, base: withSeedKeys,
		flags: seedFlags(),
		run:   func(t *trial) error { return (&committedRun{trial: t, units: units}).run() },
	}
	if units == committedQuick {
		e.places = []place{{"postgres", "for-update", "", 3}, {"sqlite", "optimistic", "", 1}}
	}
	return e
}

// withSeedKeys makes the usual database, and keys for the seeds of its pools.
func withSeedKeys(g *stage.Ground, s *harness.Site, kind string) *stage.Base {
	makeSeedKeys(s)
	if kind == "sqlite" {
		return g.Database(s, kind, nil)
	}
	return g.Database(s, kind, g.Server(s, kind))
}

func makeSeedKeys(s *harness.Site) {
	identity, err := age.GenerateX25519Identity()
	if err == nil {
		err = os.WriteFile(seedIdentity, []byte(identity.String()+"\n"), 0o600)
	}
	if err == nil {
		err = os.WriteFile(seedRecipients, []byte(identity.Recipient().String()+"\n"), 0o600)
	}
	s.Must(err)
}

// seedFlags name those keys to an instance.
func seedFlags() []string {
	return []string{"--seed-identity-file", seedIdentity, "--seed-recipients", seedRecipients}
}

// committedRun is one pool from its commitment to its verification.
type committedRun struct {
	*trial
	units   int64
	granted atomic.Int64
	draws   atomic.Int64
	kills   int
}

func (r *committedRun) run() error {
	if err := r.begin(); err != nil {
		return err
	}
	begun := time.Now()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		client.Parallel(2*client.WorkersUsual, r.work)
	}()
	err := r.disturb(ended)
	<-ended
	if err != nil {
		return err
	}
	r.Note("%d awards of %d draws in %.0f s, %d instances killed", r.granted.Load(), r.draws.Load(), time.Since(begun).Seconds(), r.kills)
	folder, err := r.publishProof(committedPool)
	if err != nil {
		return err
	}
	r.bothVerify(folder, r.granted.Load())
	return nil
}

// begin makes the pool, commits it, and opens it.
func (r *committedRun) begin() error {
	gold, silver := r.units/100, r.units
	path := "/admin/pools/" + committedPool
	for _, step := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/admin/pools", fmt.Sprintf(`{"id":%q,"name":"Committed","state":"paused","prizes":[{"id":"gold","name":"Gold","value":"19.90","stock":%d},
			{"id":"silver","name":"Silver","value":"5.00","stock":%d},{"id":"none","name":"No win","kind":"blank"}]}`, committedPool, gold, silver), http.StatusCreated},
		{"PUT", path + "/rules", committedRules()[0], http.StatusOK},
		{"POST", path + "/commitment", fmt.Sprintf(`{"epochs":256,"epoch_length":%d}`, r.units/50), http.StatusCreated},
		{"PATCH", path, `{"state":"open"}`, http.StatusOK},
	} {
		if err := r.callUntil(step.method, step.path, step.body, step.want); err != nil {
			return err
		}
	}
	return nil
}

// work draws until enough was granted. A draw without a final answer is asked for
// again under its key.
func (r *committedRun) work(n int) {
	random := rand.New(rand.NewPCG(r.Seed, uint64(n))) //nolint:gosec // to be replayed
	for k := 0; r.granted.Load() < r.units && r.Ctx.Err() == nil; k++ {
		count := 1
		if random.IntN(3) > 0 {
			count = 1 + random.IntN(100)
		}
		body := fmt.Sprintf(`{"pool":%q,"user":"user-%d","count":%d}`, committedPool, random.IntN(500), count)
		key := fmt.Sprintf("committed-%d-%d", n, k)
		for at := random.IntN(len(r.Instances)); r.Ctx.Err() == nil; at++ {
			_, status, err := r.callAt(r.Instances[at%len(r.Instances)].URL(), harness.DrawToken, http.MethodPost, "/draw", body, "Idempotency-Key", key)
			if err == nil && status == http.StatusOK {
				r.granted.Add(int64(count))
				r.draws.Add(1)
			}
			if err == nil && status < 500 {
				break
			}
			time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
		}
	}
}
