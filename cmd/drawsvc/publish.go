package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/publish"
	"drawsvc/internal/stock"
)

// publishing is the command line of publish.
type publishing struct {
	// on is the database, and the service that checkpoints are handed to, if any.
	on        target
	identity  identityFlag
	pool      poolName
	witnesses []string
	entries   string
	metrics   string
	once      bool
	publish.Options
}

func publishCommand(env environment) *cobra.Command {
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

func (p *publishing) flags(c *cobra.Command, env environment) {
	p.on.flag(c, env)
	c.Flags().Lookup(serverFlag).Usage = "`URL` of a service that stores the checkpoints, where the database is an SQLite file"
	p.pool.optional(c, "`ID` of the pool; all committed pools when left out")
	f := c.Flags()
	f.StringVar(&p.Dir, "dir", "", "`folder` that holds a folder for each pool")
	f.DurationVar(&p.Every, "every", time.Second, "shortest time between two checkpoints of a pool; openings and its end are signed at once")
	f.StringArrayVar(&p.witnesses, "witness", nil, "`URL=VKEY` of a witness that cosigns the checkpoints; once for each")
	f.StringVar(&p.entries, "publish-entries", entriesRevealed, "`WHEN` the log itself is public: revealed, or live, which tells how much is left")
	f.StringVar(&p.metrics, "metrics-listen", "", "`address` of /metrics and /livez without token (default none)")
	f.BoolVar(&p.once, "once", false, "publish what is there, compare all that was published with its rows, and end")
	p.identity.flag(f)
}

// The values of --publish-entries.
const (
	entriesRevealed = "revealed"
	entriesLive     = "live"
)

// read checks the flags and returns the identities.
func (p *publishing) read() (*proof.Identities, error) {
	if p.Dir == "" {
		return nil, usageError{errors.New("--dir is missing")}
	}
	if p.entries != entriesRevealed && p.entries != entriesLive {
		return nil, usageError{errors.New("--publish-entries must be revealed or live")}
	}
	p.Live = p.entries == entriesLive
	if err := within("every", p.Every, 100*time.Millisecond, 24*time.Hour); err != nil {
		return nil, usageError{err}
	}
	for _, text := range p.witnesses {
		w, err := parseWitness(text)
		if err != nil {
			return nil, usageError{fmt.Errorf("--witness: %s", message(err))}
		}
		p.Witnesses = append(p.Witnesses, w)
	}
	by, err := p.identity.read()
	if err == nil && by == nil {
		err = usageError{errors.New("--seed-identity-file is missing: checkpoints are signed with what it unseals")}
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
func (p *publishing) run(c *cobra.Command, env environment, by *proof.Identities) (err error) {
	ctx := c.Context()
	p.Log = newLog(&config{}, env.stderr)
	registry := newRegistry()
	forks := promauto.With(registry).NewCounter(prometheus.CounterOpts{
		Name: "drawsvc_log_forks_total", Help: "Committed pools whose rows were found to be others than those that were signed.",
	})
	p.Forked = forks.Inc
	if p.metrics != "" {
		end, err := serveMetrics(ctx, p.metrics, registry, p.Log)
		if err != nil {
			return err
		}
		defer end()
	}
	publisher, err := publish.New(p.Options)
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, publisher.Close()) }()
	pools := &publicPools{poolID: string(p.pool), known: map[string]*stock.Publishing{}}
	o := stock.Options{Identities: by, Log: p.Log}
	url, err := p.on.database.read(c)
	if err != nil {
		return err
	}
	if p.on.server != "" {
		calls, err := p.on.dial(c.Flags())
		if err != nil {
			return err
		}
		defer func() { _ = calls.Close() }() // idle connections
		pools.handTo = api.NewClient(calls).KeepCheckpoint
	}
	if strings.HasPrefix(url, "sqlite:") { // the service has the file, and a restore puts another in its place
		o.ReadOnly = true
		return p.loop(ctx, env, publisher, func() error {
			return p.on.with(c, o, func(ctx context.Context, store *stock.Store) error {
				pools.store = store
				return publisher.Pass(ctx, pools, p.once)
			})
		})
	}
	return p.on.with(c, o, func(ctx context.Context, store *stock.Store) error {
		pools.store = store
		return p.loop(ctx, env, publisher, func() error { return publisher.Pass(ctx, pools, p.once) })
	})
}

// loop makes passes. What goes wrong in one may go well in the next.
func (p *publishing) loop(ctx context.Context, env environment, publisher *publish.Publisher, pass func() error) error {
	if p.once {
		err := pass()
		for _, s := range publisher.Published() {
			_, _ = fmt.Fprintf(env.stdout, "%s: %s %s published\n", s.PoolID, counted(s.Entries, "entry"), do(s.Entries, "is", "are")) // the folder counts
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
		} else if text != said && !errors.Is(err, publish.ErrForked) { // which was logged
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

// publicPools implement publish.Database.
type publicPools struct {
	store  *stock.Store
	poolID string
	known  map[string]*stock.Publishing
	// handTo, where not nil, stores a checkpoint that the store cannot write itself.
	handTo func(ctx context.Context, poolID string, note []byte) error
}

// Heads implements publish.Database.
func (p *publicPools) Heads(ctx context.Context) (heads []publish.Head, err error) {
	found, err := p.store.PublicHeads(ctx, p.poolID)
	for _, h := range found {
		heads = append(heads, publish.Head(h))
	}
	if err == nil { // what was destroyed is not kept here either
		maps.DeleteFunc(p.known, func(id string, _ *stock.Publishing) bool {
			return !slices.ContainsFunc(found, func(h stock.PublicHead) bool { return h.PoolID == id })
		})
	}
	return heads, err
}

// Pool implements publish.Database.
func (p *publicPools) Pool(ctx context.Context, id string) (*publish.Pool, error) {
	of := p.known[id]
	if of == nil {
		var err error
		if of, err = p.store.Publishing(ctx, id); err != nil {
			return nil, err
		}
		p.known[id] = of
	}
	note, key := of.Commitment()
	return &publish.Pool{Origin: of.Origin(), Commitment: note, Key: key, Sign: of.Sign, Source: publicRows{of.On(p.store.Store), id, p.handTo}}, nil
}

// publicRows implement publish.Source.
type publicRows struct {
	*stock.Publishing
	poolID string
	handTo func(ctx context.Context, poolID string, note []byte) error
}

// Keep implements publish.Source.
func (p publicRows) Keep(ctx context.Context, size int64, note []byte) error {
	err := p.Publishing.Keep(ctx, size, note)
	if err == nil && p.handTo != nil {
		err = p.handTo(ctx, p.poolID, note)
	}
	if errors.Is(err, stock.ErrForked) || draw.CodeOf(err) == draw.CodeLogForked {
		return publish.ErrForked
	}
	return err
}
