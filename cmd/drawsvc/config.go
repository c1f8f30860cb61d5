package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"drawsvc/internal/lockmode"
)

// config is the command line of `serve`.
type config struct {
	listen      string
	database    database
	mode        string
	attempts    int
	budget      time.Duration
	lock        lockFlags
	jobs        jobFlags
	batchMax    int
	queueMax    int
	timeout     time.Duration
	adminSecret secret
	drawSecret  secret
	publicDraw  bool
	migrate     bool
	demo        bool
	logFormat   string
	logLevel    string

	// adminToken and drawToken are read from the secrets.
	adminToken, drawToken string
	// level is read from logLevel.
	level slog.Level
}

func (c *config) flags(cmd *cobra.Command, env environment) {
	f := cmd.Flags()
	f.StringVar(&c.listen, "listen", "127.0.0.1:8080", "`address` to listen on; port 0 picks one")
	c.database.flag(cmd, env)
	f.StringVar(&c.mode, "mode", lockmode.ForUpdate, "how draws are kept apart: "+strings.Join(lockmode.Names(), ", "))
	f.IntVar(&c.attempts, "optimistic-tries", 10, "most attempts at a batch in optimistic mode")
	f.DurationVar(&c.budget, "optimistic-budget", 500*time.Millisecond, "longest time for the attempts in optimistic mode")
	c.lock.flags(f)
	c.jobs.flags(cmd)
	f.IntVar(&c.batchMax, "batch-max", 512, "most draws in one transaction; 1 turns group commit off")
	f.IntVar(&c.queueMax, "queue-max", 4096, "most draws waiting per pool")
	f.DurationVar(&c.timeout, "request-timeout", 5*time.Second, "longest time for a response")
	c.adminSecret.flag(f, "admin-token", "", "bearer `token` of the admin calls")
	c.drawSecret.flag(f, "draw-token", "", "bearer `token` of drawing and reading")
	f.BoolVar(&c.publicDraw, "public-draw", false, "let anyone draw, on any address")
	f.BoolVar(&c.migrate, "migrate", false, "bring the schema of a server database up to date first")
	f.BoolVar(&c.demo, "demo", false, "make and stock the pool demo if there is none, and print how to draw from it")
	f.StringVar(&c.logFormat, "log-format", "", "text or json (default text on a terminal, else json)")
	f.StringVar(&c.logLevel, "log-level", "info", "debug, info, warn or error")
}

// read takes the secrets from their files and checks everything. Its errors
// are one line each.
func (c *config) read(cmd *cobra.Command) error {
	var err error
	if c.adminToken, err = c.adminSecret.read(cmd.Flags().Changed("admin-token")); err != nil {
		return err
	}
	if c.drawToken, err = c.drawSecret.read(cmd.Flags().Changed("draw-token")); err != nil {
		return err
	}
	if err := c.Validate(); err != nil {
		return usageError{err}
	}
	return nil
}

// Validate refuses unknown values and impossible combinations.
func (c *config) Validate() error {
	if !slices.Contains(lockmode.Names(), c.mode) {
		return fmt.Errorf("--mode must be one of %s", strings.Join(lockmode.Names(), ", "))
	}
	if c.logFormat != "" && c.logFormat != "text" && c.logFormat != "json" {
		return errors.New("--log-format must be text or json")
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.logLevel) || c.level.UnmarshalText([]byte(c.logLevel)) != nil {
		return errors.New("--log-level must be debug, info, warn or error")
	}
	for _, b := range []struct {
		flag           string
		value, low, up int64
	}{
		{"optimistic-tries", int64(c.attempts), 1, 1000},
		{"batch-max", int64(c.batchMax), 1, 10_000},
		{"queue-max", int64(c.queueMax), 1, 1_000_000},
	} {
		if b.value < b.low || b.value > b.up {
			return fmt.Errorf("--%s must be %d to %d", b.flag, b.low, b.up)
		}
	}
	return firstOf(
		within("optimistic-budget", c.budget, time.Millisecond, time.Minute),
		c.lock.Validate(),
		c.jobs.Validate(),
		within("request-timeout", c.timeout, 100*time.Millisecond, 10*time.Minute),
		c.validateTokens(),
	)
}

// tokenMin keeps out tokens that can be guessed by trying.
const tokenMin = 8

func (c *config) validateTokens() error {
	host, _, err := net.SplitHostPort(c.listen)
	if err != nil {
		return fmt.Errorf("--listen must be HOST:PORT: %w", err)
	}
	for flag, token := range map[string]string{"admin-token": c.adminToken, "draw-token": c.drawToken} {
		if token != "" && len(token) < tokenMin {
			return fmt.Errorf("--%s must have at least %d characters", flag, tokenMin)
		}
		if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return fmt.Errorf("--%s must be printable ASCII without blanks", flag)
		}
	}
	if c.adminToken != "" && c.adminToken == c.drawToken {
		return errors.New("--admin-token and --draw-token must differ")
	}
	if c.drawToken != "" && c.publicDraw {
		return errors.New("--draw-token and --public-draw contradict each other")
	}
	if isLoopback(host) {
		return nil
	}
	if c.adminToken == "" {
		return fmt.Errorf("--listen %s is open to others: give --admin-token", c.listen)
	}
	if c.drawToken == "" && !c.publicDraw {
		return fmt.Errorf("--listen %s is open to others: give --draw-token, or --public-draw if anyone may draw", c.listen)
	}
	return nil
}

// isLoopback says whether only this machine reaches host. The empty host is
// every address.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
