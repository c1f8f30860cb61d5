package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"drawsvc/internal/access"
	"drawsvc/internal/draw"
	"drawsvc/internal/group"
	"drawsvc/internal/hook"
	"drawsvc/internal/http"
	"drawsvc/internal/http/gate"
	"drawsvc/internal/live"
	"drawsvc/internal/locker"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
	"drawsvc/internal/tracing"
)

// Run runs the service until the command's context ends.
func Run(cmd *cobra.Command, c *Config, env setting.Environment) (err error) {
	ctx := cmd.Context()
	asked, stopAsking := hangups()
	defer stopAsking()
	log := NewLog(c, env.Stderr)
	// The addresses come first: if one is taken, nothing has been changed.
	listeners, err := c.openListeners(cmd)
	if err != nil {
		return err
	}
	defer listeners.close() // the server has done so already, except after an error below
	c.warn(cmd.Flags(), log)
	limitMemory(log, memlimit.FromCgroup)
	version := setting.ReadVersion(env)
	last, endLast := lastContext(ctx, c.delay)
	defer endLast()
	traces, log, flush := startTraces(ctx, last, version.Version, log)
	var opened closers
	defer func() {
		err = setting.FirstOf(err, opened.closeWithin(last, log))
		if flush(); err == nil {
			log.Info("stopped")
		}
	}()

	registry := NewRegistry()
	listeners.shown.show(registry)
	var batcher *group.Batcher
	store, err := c.Database.Open(ctx, cmd, c.storeOptions(func(poolID string) { batcher.Changed(poolID) }, registry, log))
	if err != nil {
		return err
	}
	opened.add(store.Close)
	lock, err := locker.Open(ctx, c.lock.url, locker.Options{TTL: c.lock.ttl, Wait: c.lock.wait, Log: log, Database: store})
	if err != nil {
		return err
	}
	opened.add(lock.Close)
	if err := c.watchStore(cmd, store, log); err != nil {
		return err
	}
	if batcher, err = newBatcher(c, store, lock, traces, version, registry, log); err != nil {
		return err
	}
	opened.add(func() error { return batcher.Drain(context.WithoutCancel(ctx)) }) // the draws that the server has not drained
	ready, sent, stops := c.follow(store, lock, registry, log)
	opened.addStop(stops...)
	if err := c.ensureTokens(env.Stdout); err != nil {
		return err
	}
	sender := hook.NewSender(hook.NewDialer(c.hooks.allowed), version.Version)
	jobs, err := startJobs(ctx, c, store, registry, log, newRelay(sender, store, sent, log).Job())
	if err != nil {
		return err
	}
	opened.add(jobs.stop)
	feed := newFeed(store)
	opened.add(feed.Close)
	server, err := http.New(httpConfig(c, listeners, store, feed, ready.check, batcher, jobs, sender, traces, registry, log))
	if err != nil {
		return err
	}
	if err := announce(ctx, c, env.Stdout, store, listeners.main.Addr(), log); err != nil {
		return err
	}
	defer c.watchFiles(ctx, store, listeners, asked, log)()
	defer notifyManager(ctx, c.delay, log)()
	return listeners.serve(ctx, server, log)
}

// hangups receives SIGHUP, which from then on no longer ends the process: it requests that
// the files are read again.
func hangups() (asked chan os.Signal, stop func()) {
	asked = make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGHUP)
	return asked, func() { signal.Stop(asked) }
}

// follow exports changing values in the metrics while the service runs, and does due
// work. It returns the readiness, the metrics of hooks, and the functions stops. Each of
// these functions ends a part of this work.
func (c *Config) follow(store *stock.Store, lock locker.Lock, registry *prometheus.Registry, log *slog.Logger) (ready *readiness, sent *hookMetrics, stops []func()) {
	ready, sent = newReadiness(store, lock, c.lock.url, log), newHookMetrics(registry)
	ready.show(registry)
	showClock(registry, store.ClockLeap)
	c.tokens.show(registry)
	return ready, sent, []func(){
		ready.watch(), watchPools(registry, store, log), watchCodes(registry, store), watchClaims(registry, store), sent.watch(store), followAgendas(store, log),
		watchPublishing(registry, store), watchStandbys(registry, store), boundGarbage(),
	}
}

func (c *Config) storeOptions(changed func(poolID string), r prometheus.Registerer, log *slog.Logger) stock.Options {
	return stock.Options{
		Log: log, LockWait: min(stock.LockWaitDefault, c.timeout/5), Changed: changed, Due: countDue(r), Identities: c.unsealBy, SealKeys: c.seals.keeper, ClockLeap: c.clockLeap,
		Stepped: newStepMetrics(r).Stepped,
	}
}

// watchStore checks that the schema admits the service, and follows the schema and the
// seeds from then on.
func (c *Config) watchStore(cmd *cobra.Command, store *stock.Store, log *slog.Logger) error {
	ctx := cmd.Context()
	if err := setting.Prepare(ctx, store, c.migrate, false); err != nil {
		return err
	}
	if c.demo {
		url, err := c.Database.Read(cmd)
		if err != nil {
			return err
		}
		if err := c.demoSeeds(store, url); err != nil {
			return err
		}
	}
	store.WatchSchema()
	store.WatchWrites()
	if err := c.seals.follow(ctx, store, log); err != nil {
		return err
	}
	return store.WatchSeeds(ctx)
}

// newBatcher returns the batcher that decides draws.
func newBatcher(c *Config, store *stock.Store, lock locker.Lock, traces *tracing.Tracing, version setting.VersionInfo, r prometheus.Registerer, log *slog.Logger) (*group.Batcher, error) {
	metrics := newMetrics(r, store, c.mode, version)
	issuer, err := lockmode.New(lockmode.Options{
		Store: store, Agendas: store, Sharer: store, Observer: metrics, Log: log, Now: store.Now, ClockLeapt: store.ClockLeapt, CodesAway: store.CodesAway, Mode: c.mode,
		Budget: c.timeout * 6 / 10, Settle: c.timeout * 9 / 10,
		OptimisticAttempts: c.attempts, OptimisticBudget: c.budget,
		Locker: timedLock{lock, metrics.held}, LockName: lockName(c.lock.url),
	})
	if err != nil {
		return nil, err
	}
	b := group.NewBatcher(issuer, metrics, group.Limits{BatchMax: c.batchMax, QueueMax: c.queueMax, Timeout: c.timeout})
	b.Trace(traces.Tracer())
	b.HandOutBy(store)
	watchQueues(r, b, c.metricsByPool)
	return b, nil
}

// watchFiles follows the changes of the files of secrets and TLS, until the returned
// function is called. It continues while the service drains.
func (c *Config) watchFiles(ctx context.Context, store *stock.Store, d *listeners, asked <-chan os.Signal, log *slog.Logger) func() {
	all := d.files
	all = append(all, c.tokens.files...)
	if c.tickets.file != nil {
		all = append(all, c.tickets.file)
	}
	if c.seals.file != nil {
		all = append(all, c.seals.file)
	}
	all = append(all, c.followed(store)...)
	watching, end := context.WithCancel(context.WithoutCancel(ctx))
	var ended sync.WaitGroup
	ended.Go(func() { watch(watching, asked, all, log) })
	return func() { end(); ended.Wait() }
}

// secrets returns the secrets of the flags.
func (c *Config) secrets() []*setting.Secret {
	return []*setting.Secret{&c.adminSecret, &c.drawSecret, &c.Database.URL, &c.lock.secret, &c.jobs.lockSecret, &c.jobs.catalogueSecret}
}

// warn logs how secrets may leak.
func (c *Config) warn(flags *pflag.FlagSet, log *slog.Logger) {
	for _, s := range c.secrets() {
		s.Warn(flags, log)
	}
	c.lock.warn(flags, log)
	c.jobs.warn(log)
	warnOfDescriptors(log, descriptorLimit(), c.connections)
	c.tokens.warnOfUnread(log)
	setting.WarnOfMode(log, "--tokens", c.tokensFile, setting.OthersMayWrite)
	setting.WarnOfMode(log, "--tls-client-ca", c.tlsClientCA, setting.OthersMayWrite)
	setting.WarnOfMode(log, "--ticket-keys", c.ticketsFile, setting.OthersMayUse)
	setting.WarnOfMode(log, "--seal-keys", c.sealFlag.Path, setting.OthersMayUse)
	setting.WarnOfMode(log, "--tls-key", c.tlsKey, setting.OthersMayUse)
	setting.WarnOfMode(log, "--seed-identity-file", c.identity.Path, setting.OthersMayUse)
	if path, ok := strings.CutPrefix(c.Database.URL.Value, "sqlite:"); ok {
		path, _, _ = strings.Cut(path, "?")
		setting.WarnOfMode(log, "--database", path, setting.OthersMayUse)
	}
}

// newFeed returns the feed that shows the pools to listeners.
func newFeed(store *stock.Store) *live.Feed {
	return live.New(func(ctx context.Context) ([]draw.Overview, error) {
		return store.Overviews(ctx, live.PoolsMax, live.PrizesMax)
	}, live.Limits{})
}

func httpConfig(c *Config, d *listeners, store *stock.Store, feed *live.Feed, ready func(context.Context) error, b *group.Batcher, j *jobs, sender *hook.Sender, t *tracing.Tracing, r *prometheus.Registry, log *slog.Logger) http.Config {
	return http.Config{
		Access: gate.Access{
			Tokens: c.tokens.keeper, PublicDraw: c.publicDraw, DemoDraw: c.demo, AllowedHosts: c.hosts, TrustedProxies: c.trusted, ClientCAs: d.callersOf,
		},
		Limits: http.Limits{RequestTimeout: c.timeout, ShutdownDelay: c.delay, ConnectionsMax: c.connections},
		Store:  backend{store, sealing{To: c.sealTo, origin: c.origin}}, Drawer: countRedirects(b, r), Watcher: feed, Tickets: c.tickets.keeper,
		WakeJobs: j.runner.Wake, HookSender: sender, Catalogue: j.memory.Items, Modes: lockmode.Names(), OperatorName: c.operator, TLS: d.tls,
		Ready: ready, Log: log, Registerer: r, Gatherer: r, Tracer: t.Tracer(), Propagator: t.Propagator(),
	}
}

// lockName returns the name of a lock in the database. It contains only the scheme of
// the URL, because a URL may contain a password.
func lockName(url string) string {
	scheme, rest, _ := strings.Cut(url, ":")
	if rest == "" {
		return scheme + ":"
	}
	sum := sha256.Sum256([]byte(url))
	return scheme + ":" + hex.EncodeToString(sum[:8])
}

// announce logs where the service listens and, for the demo, how to draw.
func announce(ctx context.Context, c *Config, w io.Writer, store *stock.Store, addr net.Addr, log *slog.Logger) error {
	log.Info("listening", "address", addr.String(), "database", store.Dialect(), "mode", c.mode, "lock", lockScheme(c.lock.url))
	if !c.demo {
		return nil
	}
	return demo(ctx, c, w, store, addr)
}

// lastContext returns a context that ends when it is cancelled, or when ctx has ended
// and then delay and endMax have passed.
func lastContext(ctx context.Context, delay time.Duration) (context.Context, context.CancelFunc) {
	last, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(delay+endMax, end) })
	return last, func() { stop(); end() }
}

// ensureTokens creates the tokens that were not given, which is allowed only on a
// loopback address, and prints them; they are not logged.
func (c *Config) ensureTokens(w io.Writer) error {
	printed := ""
	if !c.tokens.keeper.Set().Has(access.Admin) {
		c.adminToken = rand.Text()
		printed = "admin token for this run: " + c.adminToken + "\n"
	}
	if c.needsDrawToken() && !c.demo {
		c.drawToken = rand.Text()
		printed += "draw token for this run: " + c.drawToken + "\n"
	}
	if printed == "" {
		return nil
	}
	var err error
	if c.tokens, err = c.readTokens(); err != nil {
		return err
	}
	_, err = io.WriteString(w, printed)
	return err
}
