package experiments

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// The number of awards of the committed pool, in the full run and in the quick run.
const (
	committedPool  = "committed"
	committedAll   = 1_000_000
	committedQuick = 20_000
)

func committedFaults() []Experiment {
	return []Experiment{committed("a million committed awards, killed and changed", committedAll), committed("committed awards, killed and changed", committedQuick)}
}

// committed draws units of one committed pool, under rules of every kind, while
// instances are killed, stock moves, prizes are added, and rules and modes change. Then
// it closes and reveals the pool, and both verifiers recompute its draws.
func committed(name string, units int64) Experiment {
	e := Experiment{
		Name: name, places: everywhere(3), own: true, timeout: edgeTimeout, Longest: 20 * time.Minute, base: withSeedKeys,
		flags: stage.SeedFlags(),
		run:   func(t *trial) error { return (&committedRun{trial: t, units: units}).run() },
	}
	if units == committedQuick {
		e.places = []place{{"postgres", "for-update", "", 3}, {"sqlite", "optimistic", "", 1}}
	}
	return e
}

func withSeedKeys(g *stage.Ground, s *harness.Site, kind string) *stage.Base {
	stage.MakeSeedKeys(s)
	if kind == "sqlite" {
		return g.Database(s, kind, nil)
	}
	return g.Database(s, kind, g.Server(s, kind))
}

type committedRun struct {
	*trial
	units   int64
	granted atomic.Int64
	draws   atomic.Int64
	kills   int
}

func (r *committedRun) run() error {
	r.begin()
	begun := time.Now()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		client.Parallel(2*client.WorkersUsual, r.work)
	}()
	err := r.disturb(ended)
	<-ended
	r.Must(err)
	r.Note("%d awards of %d draws in %.0f s, %d instances killed", r.granted.Load(), r.draws.Load(), time.Since(begun).Seconds(), r.kills)
	folder, err := r.publishProof(committedPool)
	r.Must(err)
	r.bothVerify(folder, r.granted.Load())
	return nil
}

func (r *committedRun) begin() {
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
		r.Must(r.callUntil(step.method, step.path, step.body, step.want))
	}
}

// work draws until enough was granted. It retries a draw without a final answer under
// its key.
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

// committedRules returns limits, blanks and a fallback, fixed odds, a budget, and a
// guarantee, in this order. Fixed odds name all prizes that exist at that time.
func committedRules() []string {
	return []string{
		`{"fallback":"none","win":"3/4","limits":[{"of":"prize","prize":"gold","max":5},{"of":"draws","max":50000,"per":"day"}],"zone":"Europe/Berlin"}`,
		`{"fallback":"none","odds":{"of":1000,"prizes":{"silver":200,"gold":5,"pin-5":50}},"budget":{"max":"200000.00","per":"hour"}}`,
		`{"fallback":"none","guarantee":{"after":20,"prize":"silver"},"win":"1/4","blocked":["user-7"]}`,
		`{"fallback":"none","limits":[{"of":"wins","max":300,"per":"1h"}]}`,
	}
}

const disturbances = 24

// disturb changes the pool or kills an instance each time that a further part of the
// units is drawn, until the draws have ended.
func (r *committedRun) disturb(ended <-chan struct{}) error {
	for n := int64(1); n < disturbances; n++ {
		for r.granted.Load() < n*r.units/disturbances {
			select {
			case <-ended:
				return r.Ctx.Err()
			case <-time.After(5 * time.Millisecond):
			}
		}
		r.Must(r.act(int(n)))
	}
	return nil
}

func (r *committedRun) act(n int) error {
	path := "/admin/pools/" + committedPool
	switch n % 6 {
	case 0:
		return r.callUntil("PUT", path+"/rules", committedRules()[n/6%len(committedRules())], http.StatusOK)
	case 1, 4:
		return r.kill()
	case 2:
		delta := r.units / 50
		if n%4 == 0 {
			delta = -delta / 10
		}
		body := fmt.Sprintf(`{"delta":%d,"reason":"restock %d"}`, delta, n)
		return r.callUntil("POST", path+"/prizes/silver/stock", body, http.StatusOK)
	case 3:
		mode := lockmode.Names()[n/6%len(lockmode.Names())]
		return r.callUntil("PATCH", path, fmt.Sprintf(`{"mode":%q}`, mode), http.StatusOK)
	}
	body := fmt.Sprintf(`{"id":"pin-%d","name":"Pin %d","value":"0.50","stock":%d}`, n, n, r.units/40)
	return r.callUntil("POST", path+"/prizes", body, http.StatusCreated)
}

// kill ends an instance at once, whatever it is doing, and starts it again.
func (r *committedRun) kill() error {
	i := r.Any()
	i.Kill()
	r.kills++
	r.Sleep(50, 200)
	return i.Again(r.Ctx)
}

// callUntil repeats an operator's call until an instance answers with the wanted status
// or another final status.
func (t *trial) callUntil(method, path, body string, want int) error {
	for n := 0; ; n++ {
		text, status, err := t.callAt(t.Instances[n%len(t.Instances)].URL(), harness.AdminToken, method, path, body)
		switch {
		case t.Ctx.Err() != nil:
			return t.Ctx.Err()
		case err == nil && status == want:
			return nil
		case n > 0 && (strings.Contains(string(text), `-exists"`) || strings.Contains(string(text), `"pool-committed"`)): // an earlier call whose answer was lost has made the change
			return nil
		case err == nil && status < 500:
			return fmt.Errorf("%s %s %s: %d %.300s", method, path, body, status, text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (t *trial) callAt(at, token, method, path, body string, headers ...string) ([]byte, int, error) {
	ctx, cancel := context.WithTimeout(t.Ctx, 2*time.Minute) // a log has a million lines
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, at+path, io.NopCloser(strings.NewReader(body))) // net/http does not send such a body again by itself
	if err != nil {
		return nil, 0, err
	}
	request.ContentLength = int64(len(body))
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	for k := 0; k+1 < len(headers); k += 2 {
		request.Header.Set(headers[k], headers[k+1])
	}
	response, err := t.Client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return text, response.StatusCode, err
}

// publishProof closes and reveals a committed pool, and returns the folder of its
// public files.
func (t *trial) publishProof(pool string) (folder string, err error) {
	path := "/admin/pools/" + pool
	t.Must(t.callUntil("PATCH", path, `{"state":"closed"}`, http.StatusOK))
	begun := time.Now()
	t.Must(t.callUntil("POST", path+"/reveal", "", http.StatusOK))
	t.Note("%s: revealed in %.1f s", pool, time.Since(begun).Seconds())
	folder = t.Site.TempDir()
	for name, file := range map[string]string{"key": "key", "commitment": "commitment", "checkpoint": "checkpoint", "reveal": "reveal", "log": "log.jsonl"} {
		if err := stage.Within(t.Ctx, client.SettleMax, func() error { // a 503 contains no proof
			text, status, err := t.callAt(t.Instances[0].URL(), harness.DrawToken, "GET", "/pools/"+pool+"/proof/"+name, "")
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("proof/%s: %d", name, status)
			}
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(folder, file), text, 0o600)
		}); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// bothVerify makes both verifiers recompute the public files, and compare them with the
// files that the arguments name. The log must have the given number of awards.
func (t *trial) bothVerify(folder string, awards int64, args ...string) {
	for _, verifier := range [][]string{{filepath.Join(stage.Bin, stage.Released), "verify"}, {"python3", "docs/verify/verify.py"}} {
		begun := time.Now()
		command := append(append(verifier[1:], folder), args...)
		output, err := exec.CommandContext(t.Ctx, verifier[0], command...).CombinedOutput() //nolint:gosec // its own programs
		said := strings.TrimSpace(string(output))
		t.Note("%s: %s, in %.1f s", filepath.Base(verifier[len(verifier)-1]), said, time.Since(begun).Seconds())
		if err != nil {
			t.Verdict.Say(history.Fault, "%s: %v: %s", verifier, err, said)
		}
		if want := fmt.Sprintf(" %d awards replayed ", awards); !strings.Contains(said, want) {
			t.Verdict.Say(history.Fault, "of%sthe log has: %s", want, said)
		}
	}
}
