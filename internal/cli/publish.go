package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/proof"
	"drawsvc/internal/publish"
	"drawsvc/internal/serve"
	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
)

// publishing is the command line of publish.
type publishing struct {
	// on is the database, and the service to which checkpoints are sent, if any.
	on        target
	identity  setting.IdentityFlag
	pool      poolName
	witnesses []string
	entries   string
	metrics   string
	once      bool
	publish.Options
}

func publishCommand(env setting.Environment) *cobra.Command {
	var p publishing
	c := &cobra.Command{
		Use:   "publish --dir DIR --seed-identity-file FILE",
		Short: "Keep a folder with the signed checkpoints of committed pools, and with their logs once they are revealed",
		Long: `Keep a folder with the signed checkpoints of committed pools, and with their logs
once they are revealed. It reads the rows from behind and runs beside the service,
also on a standby. The folder is its state: a restart goes on from there.

Where the rows are no longer those that were signed, it signs nothing more of the
pool and names the first version that differs. docs/verifiable-draws.md says how
to run it, where to host the folder, and what witnesses add.`,
	}
	p.flags(c, env)
	c.RunE = func(c *cobra.Command, _ []string) error {
		by, err := p.read()
		if err != nil {
			return err
		}
		return p.run(c, env, by)
	}
	return c
}

func (p *publishing) flags(c *cobra.Command, env setting.Environment) {
	p.on.flag(c, env)
	c.Flags().Lookup(setting.ServerFlag).Usage = "`URL` of a service that stores the checkpoints, where the database is an SQLite file"
	p.pool.optional(c, "`ID` of the pool; all committed pools when left out")
	f := c.Flags()
	f.StringVar(&p.Dir, "dir", "", "`folder` that holds a folder for each pool")
	f.DurationVar(&p.Every, "every", time.Second, "shortest time between two checkpoints of a pool; openings and its end are signed at once")
	f.StringArrayVar(&p.witnesses, "witness", nil, "`URL=VKEY` of a witness that cosigns the checkpoints; once for each")
	f.StringVar(&p.entries, "publish-entries", entriesRevealed, "`WHEN` the log itself is public: revealed, or live, which tells how much is left")
	f.StringVar(&p.metrics, "metrics-listen", "", "`address` of /metrics and /livez without token (default none)")
	f.BoolVar(&p.once, "once", false, "publish what is there, compare all that was published with its rows, and end")
	p.identity.Flag(f)
}

// The values of --publish-entries.
const (
	entriesRevealed = "revealed"
	entriesLive     = "live"
)

// read checks the flags and returns the identities.
func (p *publishing) read() (*proof.Identities, error) {
	if p.Dir == "" {
		return nil, setting.AsUsage(errors.New("--dir is missing"))
	}
	if p.entries != entriesRevealed && p.entries != entriesLive {
		return nil, setting.AsUsage(errors.New("--publish-entries must be revealed or live"))
	}
	p.Live = p.entries == entriesLive
	if err := setting.Within("every", p.Every, 100*time.Millisecond, 24*time.Hour); err != nil {
		return nil, setting.AsUsage(err)
	}
	for _, text := range p.witnesses {
		w, err := parseWitness(text)
		if err != nil {
			return nil, setting.AsUsage(fmt.Errorf("--witness: %s", setting.Message(err)))
		}
		p.Witnesses = append(p.Witnesses, w)
	}
	by, err := p.identity.Read()
	if err == nil && by == nil {
		err = setting.AsUsage(errors.New("--seed-identity-file is missing: checkpoints are signed with what it unseals"))
	}
	return by, err
}

// parseWitness reads URL=VKEY.
func parseWitness(text string) (w publish.Witness, err error) {
	at, key, found := strings.Cut(text, "=")
	u, err := url.Parse(at)
	if err != nil || !found || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return w, fmt.Errorf("%q must be URL=VKEY, such as https://witness.example/prefix=NAME+HASH+KEY", text)
	}
	w.URL = strings.TrimSuffix(at, "/")
	w.Key, err = proof.ParseWitness(key)
	return w, err
}

// run publishes until the command's context ends, or once.
func (p *publishing) run(c *cobra.Command, env setting.Environment, by *proof.Identities) (err error) {
	ctx := c.Context()
	p.Log = serve.NewLog(&serve.Config{}, env.Stderr)
	registry := serve.NewRegistry()
	forks := promauto.With(registry).NewCounter(prometheus.CounterOpts{
		Name: "drawsvc_log_forks_total", Help: "Committed pools whose rows were found to be others than those that were signed.",
	})
	p.Forked = forks.Inc
	passed := promauto.With(registry).NewGauge(prometheus.GaugeOpts{
		Name: "drawsvc_publish_pass_timestamp_seconds", Help: "When all committed pools, except forked ones, were last published; when the publisher began before that.",
	})
	passed.SetToCurrentTime()
	promauto.With(registry).NewGauge(prometheus.GaugeOpts{
		Name: "drawsvc_publish_interval_seconds", Help: "Shortest time between two checkpoints of a pool.",
	}).Set(p.Every.Seconds())
	p.Passed = passed.SetToCurrentTime
	if p.metrics != "" {
		end, err := serve.ServeMetrics(ctx, p.metrics, registry, p.Log)
		if err != nil {
			return err
		}
		defer end()
	}
	publisher, err := publish.New(p.Options)
	if err != nil {
		return err
	}
	defer func() { err = setting.FirstOf(err, publisher.Close()) }()
	pools := &serve.PublicPools{PoolID: string(p.pool), Known: map[string]*stock.Publishing{}}
	o := stock.Options{Identities: by, Log: p.Log}
	url, err := p.on.Database.Read(c)
	if err != nil {
		return err
	}
	if p.on.server != "" {
		calls, err := p.on.dial(c.Flags())
		if err != nil {
			return err
		}
		defer func() { _ = calls.Close() }() // closes idle connections
		pools.HandTo = api.NewClient(calls).KeepCheckpoint
	}
	if strings.HasPrefix(url, "sqlite:") { // the service may use the same file, and a restore replaces it
		o.ReadOnly = true
		return p.loop(ctx, env, publisher, func() error {
			return p.on.With(c, o, func(ctx context.Context, store *stock.Store) error {
				pools.Store = store
				return publisher.Pass(ctx, pools, p.once)
			})
		})
	}
	return p.on.With(c, o, func(ctx context.Context, store *stock.Store) error {
		pools.Store = store
		return p.loop(ctx, env, publisher, func() error { return publisher.Pass(ctx, pools, p.once) })
	})
}

// loop makes passes. It continues after a failed pass, because the next one may succeed.
func (p *publishing) loop(ctx context.Context, env setting.Environment, publisher *publish.Publisher, pass func() error) error {
	if p.once {
		err := pass()
		for _, s := range publisher.Published() {
			_, _ = fmt.Fprintf(env.Stdout, "%s: %s %s published\n", s.PoolID, counted(s.Entries, "entry"), do(s.Entries, "is", "are")) // the published folder is the result, not this line
		}
		return err
	}
	said := ""
	for {
		err := pass()
		if ctx.Err() != nil {
			return nil //nolint:nilerr // whoever ends it breaks it off
		}
		if text := fmt.Sprint(err); err == nil {
			said = ""
		} else if text != said && !errors.Is(err, publish.ErrForked) { // package publish has logged a fork
			said = text
			p.Log.Error("not all is published", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(publisher.Tick()):
		}
	}
}
