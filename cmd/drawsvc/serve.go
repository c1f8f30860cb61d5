package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"

	"drawsvc/internal/group"
	"drawsvc/internal/http"
	"drawsvc/internal/locker"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
)

func serveCommand(env environment) *cobra.Command {
	var c config
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.read(cmd); err != nil {
				return err
			}
			return serve(cmd, &c, env)
		},
	}
	c.flags(cmd, env)
	return cmd
}

// serve runs the service until the command's context ends.
func serve(cmd *cobra.Command, c *config, env environment) (err error) {
	ctx := cmd.Context()
	log := newLog(c, env.stderr)
	// The address first: when it is taken, nothing has been touched.
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer listener.Close() // the server has done so already, save after an error below
	last, endLast := lastContext(ctx)
	defer endLast()
	var opened closers
	defer func() {
		if err = firstOf(err, opened.closeWithin(last, log)); err == nil {
			log.Info("stopped")
		}
	}()

	var batcher *group.Batcher
	store, err := c.database.open(ctx, cmd, stock.Options{
		Log:      log,
		LockWait: min(stock.LockWaitDefault, c.timeout/5),
		Changed:  func(poolID string) { batcher.Changed(poolID) },
	})
	if err != nil {
		return err
	}
	opened.add(store.Close)
	lock, err := locker.Open(ctx, c.lock.url, locker.Options{TTL: c.lock.ttl, Wait: c.lock.wait, Log: log, Database: store})
	if err != nil {
		return err
	}
	opened.add(lock.Close)
	if err := prepare(ctx, store, c.migrate, false); err != nil {
		return err
	}
	store.WatchSchema()

	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	metrics := newMetrics(registry, store, c.mode)
	issuer, err := lockmode.New(lockmode.Options{
		Store: store, Sharer: store, Observer: metrics, Log: log, Mode: c.mode,
		Budget: c.timeout * 6 / 10, Settle: c.timeout * 9 / 10,
		OptimisticAttempts: c.attempts, OptimisticBudget: c.budget,
		Locker: timedLock{lock, metrics.held}, LockName: lockName(c.lock.url),
	})
	if err != nil {
		return err
	}
	batcher = group.NewBatcher(issuer, metrics, group.Limits{BatchMax: c.batchMax, QueueMax: c.queueMax, Timeout: c.timeout})
	opened.add(func() error { return batcher.Drain(context.WithoutCancel(ctx)) }) // those that the server has not drained
	watchQueues(registry, batcher)
	opened.add(watchPools(ctx, registry, store, func(ctx context.Context) error { return ready(ctx, store, lock) }))
	if err := c.ensureAdminToken(env.stdout); err != nil {
		return err
	}
	jobs, err := startJobs(ctx, c, store, registry, log)
	if err != nil {
		return err
	}
	opened.add(jobs.stop)
	server, err := http.New(httpConfig(c, store, lock, batcher, jobs, registry, log))
	if err != nil {
		return err
	}
	if err := announce(ctx, c, env.stdout, store, listener.Addr(), log); err != nil {
		return err
	}
	return server.Serve(ctx, listener)
}

func httpConfig(c *config, store *stock.Store, lock locker.Lock, b *group.Batcher, j *jobs, r *prometheus.Registry, log *slog.Logger) http.Config {
	host, _, _ := net.SplitHostPort(c.listen) // was checked by Validate
	return http.Config{
		Drawer: b, Reader: store, Pools: store, Stocker: store, Importer: store, History: store, Auditor: store,
		JobReader: store, JobChanger: store, Statements: store, WakeJobs: j.runner.Wake, Catalogue: j.memory.Item,
		Modes:      lockmode.Names(),
		AdminToken: c.adminToken, DrawToken: c.drawToken, OpenMetrics: isLoopback(host),
		RequestTimeout: c.timeout,
		Ready:          func(ctx context.Context) error { return ready(ctx, store, lock) },
		Log:            log, Registerer: r, Gatherer: r,
	}
}

// ready asks everything that a draw needs.
func ready(ctx context.Context, store *stock.Store, lock locker.Lock) error {
	if err := store.CheckSchema(ctx); err != nil {
		return err
	}
	return lock.Ping(ctx)
}

// lockName tells a lock from others in the database. It holds no more of the
// URL than its scheme, because a URL may hold a password.
func lockName(url string) string {
	scheme, rest, _ := strings.Cut(url, ":")
	if rest == "" {
		return scheme + ":"
	}
	sum := sha256.Sum256([]byte(url))
	return scheme + ":" + hex.EncodeToString(sum[:8])
}

// announce says where the service is and, for the demo, how to draw.
func announce(ctx context.Context, c *config, w io.Writer, store *stock.Store, addr net.Addr, log *slog.Logger) error {
	log.Info("listening", "address", addr.String(), "database", store.Dialect(), "mode", c.mode, "lock", lockScheme(c.lock.url))
	if !c.demo {
		return nil
	}
	return demo(ctx, c, w, store, addr)
}

// endMax bounds the end of the service, from the signal on: the server takes
// 13.5 s of it at most, and 15 are promised, on a busy machine too.
const endMax = 14 * time.Second

// lastContext ends endMax after ctx has ended, or when it is cancelled.
func lastContext(ctx context.Context) (context.Context, context.CancelFunc) {
	last, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(endMax, end) })
	return last, func() { stop(); end() }
}

// ensureAdminToken makes a token when none was given, which is allowed on a
// loopback address alone, and prints it; it is not for the log.
func (c *config) ensureAdminToken(w io.Writer) error {
	if c.adminToken != "" {
		return nil
	}
	c.adminToken = rand.Text()
	_, err := fmt.Fprintf(w, "admin token for this run: %s\n", c.adminToken)
	return err
}

func newLog(c *config, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.level}
	if c.logFormat == "text" || c.logFormat == "" && isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// firstOf returns the first error that is one.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
