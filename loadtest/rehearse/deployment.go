package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
)

// deployment is the rehearsed deployment.
type deployment struct {
	name, base            string
	admins                []string
	adminToken, drawToken string
	adminFile             string
	// acts carry out steps, by their names; a step without an act is not rehearsed.
	acts map[string]func(ctx context.Context) error
	// rows reads a pool's rows by SQL, and end stops the instances. Each is nil if only
	// the operator can do it.
	rows func(ctx context.Context, pool string) (history.Rows, error)
	end  func() error
}

// staging is an operator's deployment.
func staging(site *harness.Site, s settings) *deployment {
	if s.here {
		return nil
	}
	read := func(file string) string {
		if file == "" {
			return ""
		}
		text, err := os.ReadFile(file)
		site.Must(err)
		return strings.TrimSpace(string(text))
	}
	d := &deployment{
		name: "a staging deployment", base: s.base, adminFile: s.adminFile,
		adminToken: read(s.adminFile), drawToken: read(s.drawFile), acts: map[string]func(context.Context) error{},
	}
	for url := range strings.SplitSeq(cmp.Or(s.admin, s.base), ",") {
		d.admins = append(d.admins, strings.TrimRight(strings.TrimSpace(url), "/"))
	}
	for step, command := range map[string]string{"failover": s.failover, "rollout": s.rollout} {
		if command != "" {
			d.acts[step] = func(ctx context.Context) error {
				_, err := execute(ctx, "sh", "-c", command)
				return err
			}
		}
	}
	return d
}

// execute runs a command, and returns its output; the error contains it as well.
func execute(ctx context.Context, program string, args ...string) (string, error) {
	output, err := exec.CommandContext(ctx, program, args...).CombinedOutput() //nolint:gosec // the operator's own commands
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(string(output)))
	}
	return string(output), err
}

// here starts three instances behind the documented nginx, on PostgreSQL with a
// synchronous standby.
func here(ctx context.Context, site *harness.Site) *deployment {
	stage.MakeSeedKeys(site)
	pair := &stage.Pair{Synchronous: true, Options: []servertest.Option{servertest.Durable()}}
	w, err := stage.NewWorld(ctx, site, stage.NewGround(site), stage.Scene{
		Place:   place.Place{Database: "postgres", Mode: lockmode.ForUpdate, Instances: 3},
		Program: stage.Released, Flags: stage.SeedFlags(), Timeout: 5 * time.Second, NewBase: pair.Base,
	})
	site.Must(err)
	d := &deployment{
		name: "three instances, nginx as documented, PostgreSQL with a synchronous standby", adminToken: harness.AdminToken, drawToken: harness.DrawToken,
		base: w.StartNginx(func(config string) string { return config }), adminFile: filepath.Join(site.TempDir(), "admin-token"), end: w.End,
	}
	site.Must(os.WriteFile(d.adminFile, []byte(harness.AdminToken), 0o600))
	for _, i := range w.Instances {
		d.admins = append(d.admins, i.URL())
	}
	d.acts = map[string]func(context.Context) error{
		"failover": func(ctx context.Context) error {
			if err := pair.HandOver(w.Base); err != nil {
				return err
			}
			return stage.Within(ctx, stage.TakeoverMax, func() error { return allReady(ctx, w.Instances) })
		},
		"rollout": func(ctx context.Context) error {
			for _, i := range w.Instances {
				if err := i.Stop(); err != nil {
					return err
				}
				if err := i.Again(ctx); err != nil {
					return err
				}
			}
			return nil
		},
	}
	d.rows = func(ctx context.Context, pool string) (history.Rows, error) {
		return history.Read(ctx, w.Base.Admin, pool, w.Numbered(), false)
	}
	return d
}

func allReady(ctx context.Context, instances []*stage.Instance) error {
	for _, i := range instances {
		if err := i.IsReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// hooks runs the deployment's acts, one at a time, when the script says that their step
// has begun.
type hooks struct {
	url  string
	mu   sync.Mutex
	acts map[string]func(ctx context.Context) error
	ran  map[string]hookRun
}

type hookRun struct {
	took time.Duration
	err  error
}

func serveHooks(s *harness.Site, d *deployment, out io.Writer) *hooks {
	h := &hooks{acts: d.acts, ran: map[string]hookRun{}}
	if len(h.acts) == 0 {
		return h
	}
	h.url = "http://" + harness.Serve(s, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		name := strings.TrimPrefix(r.URL.Path, "/")
		if h.acts[name] == nil {
			return
		}
		begin := time.Now()
		err := h.acts[name](s.Context())
		h.ran[name] = hookRun{time.Since(begin), err}
		harness.Say(out, "%s: %v, error %v\n", name, time.Since(begin).Round(time.Millisecond), err)
	}))
	return h
}

// checks judges the acts: each was rehearsed within its step.
func (h *hooks) checks(steps []step) (all []check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range steps {
		st := &steps[i]
		if st.Name != "failover" && st.Name != "rollout" {
			continue
		}
		run, hasRun := h.ran[st.Name]
		skipped, err := "", run.err
		switch {
		case h.acts[st.Name] == nil:
			skipped = "not rehearsed: no command was given"
		case !hasRun:
			err = fmt.Errorf("the command of the %s was not called", st.Name)
		case err == nil && run.took.Seconds() > st.Seconds:
			err = fmt.Errorf("the %s took %.0f s, its step %.0f s: make the step longer", st.Name, run.took.Seconds(), st.Seconds)
		}
		st.Act = run.took.Seconds()
		all = append(all, newCheck("the "+st.Name+" succeeded within its step", skipped, err))
	}
	return all
}

// fetch makes an operator's GET request.
func (d *deployment) fetch(ctx context.Context, path string, headers ...string) ([]byte, error) {
	headers = append(headers, "Authorization", "Bearer "+d.adminToken)
	text, status, err := harness.Call(ctx, http.MethodGet, d.admins[0]+path, "", headers...)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s: %d %.300s", path, status, text)
	}
	return text, err
}

// gather reads the deployment's data about the pool after the evening.
func (d *deployment) gather(ctx context.Context, s *harness.Site, pool string) (*evidence, error) {
	e := &evidence{}
	var state struct {
		Committed int64 `json:"committed"`
	}
	for path, into := range map[string]any{"": &state, "/audit": &e.audit} {
		text, err := d.fetch(ctx, "/admin/pools/"+pool+path)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			return nil, err
		}
	}
	log, err := d.fetch(ctx, "/admin/pools/"+pool+"/log", "Accept", "application/x-ndjson")
	if err == nil {
		err = e.read(pool, log)
	}
	if err == nil && d.rows != nil {
		var rows history.Rows
		rows, err = d.rows(ctx, pool)
		e.sql = &rows
	}
	if err == nil {
		e.verified = d.verify(ctx, s, pool, state.Committed > 0, len(e.rows.Awards))
	}
	return e, err
}

// verify reveals a committed pool's seed, and gives its public files to both verifiers,
// which must replay the given number of awards.
func (d *deployment) verify(ctx context.Context, s *harness.Site, pool string, committed bool, awards int) []check {
	folder, program, skipped := filepath.Join(s.TempDir(), "proof"), filepath.Join(stage.Bin, stage.Released), ""
	if !committed {
		skipped = "not rehearsed: the service has no `--seed-recipients`"
	}
	commands := []struct{ name, program, args string }{
		{"the seed is revealed", program, "pool reveal --pool " + pool},
		{"the public log is exported", program, "pool export-proof --pool " + pool + " " + folder},
		{"`drawsvc verify` accepts the public log", program, "verify " + folder},
		{"`verify.py` accepts the public log", "python3", "docs/verify/verify.py " + folder},
	}
	var all []check
	for n, c := range commands {
		args := strings.Fields(c.args)
		if n < 2 {
			args = append(args, "--server", d.admins[0], "--token-file", d.adminFile)
		}
		var err error
		if skipped == "" {
			var said string
			said, err = execute(ctx, c.program, args...)
			if want := fmt.Sprintf(" %d awards replayed ", awards); err == nil && n >= 2 && !strings.Contains(said, want) {
				err = fmt.Errorf("of%sthe log has: %s", want, strings.TrimSpace(said))
			}
		}
		all = append(all, newCheck(c.name, skipped, err))
	}
	return all
}
