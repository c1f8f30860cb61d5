package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	nethttp "net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"drawsvc/client"
	"drawsvc/internal/draw"
	"drawsvc/internal/http"
	"drawsvc/internal/stock"
)

// target is what an admin command works on: a database, or a service that is
// asked over HTTP.
type target struct {
	database
	server string
	token  secret
	// clientCert and clientKey are files of what the service may demand of callers.
	clientCert, clientKey string
	// allowPlainHTTP sends the token also without encryption to another machine.
	allowPlainHTTP bool
}

// flag declares the flags of both.
func (t *target) flag(c *cobra.Command, env environment) {
	t.database.flag(c, env)
	f := c.Flags()
	f.StringVar(&t.server, serverFlag, "", "`URL` of a service that is asked over HTTP, in place of the database")
	t.token.flag(f, tokenFlag, "", "bearer `token` for the service")
	f.StringVar(&t.clientCert, "client-cert", "", "`file` of a client certificate for the service, where it demands one")
	f.StringVar(&t.clientKey, "client-key", "", "`file` of that certificate's key")
	f.BoolVar(&t.allowPlainHTTP, plainHTTPFlag, false, "send the token without encryption to another machine, in a network that is trusted")
}

// The flags of a service, and that of a database.
const (
	serverFlag   = "server"
	tokenFlag    = "token"
	databaseFlag = "database"

	plainHTTPFlag = "allow-plain-http"
)

// source says who has set a flag, the stronger one last.
type source int

const (
	byNobody source = iota
	byVariable
	byLine
)

// sourceOf says who has set one of some flags.
func sourceOf(flags *pflag.FlagSet, names ...string) (by source) {
	for _, name := range names {
		switch f := flags.Lookup(name); {
		case f == nil || !f.Changed:
		case f.Annotations[fromVariable] != nil:
			by = max(by, byVariable)
		default:
			by = byLine
		}
	}
	return by
}

// isRemote says whether the command asks a service. The command line beats the
// environment; nothing is guessed where the environment names both.
func (t *target) isRemote(flags *pflag.FlagSet) (bool, error) {
	server, database := sourceOf(flags, serverFlag), sourceOf(flags, databaseFlag, databaseFlag+fileSuffix)
	switch {
	case server == byLine && database == byLine:
		return false, usageError{errors.New("give --server or --database, not both")}
	case server == byVariable && database == byVariable:
		return false, usageError{errors.New("DRAWSVC_SERVER and DRAWSVC_DATABASE are both set: choose with --server or --database")}
	case server > database:
		return true, nil
	case sourceOf(flags, tokenFlag, tokenFlag+fileSuffix) == byLine:
		return false, usageError{errors.New("a token is for --server, which is missing")}
	}
	return false, nil
}

// readServer returns the service's address.
func (t *target) readServer() (*url.URL, error) {
	u, err := url.Parse(t.server)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "":
		return nil, usageError{errors.New("--server must be such as https://draws.example")}
	case u.User != nil:
		return nil, usageError{errors.New("--server holds a user or a password: give the service's token with --token-file")}
	}
	return u, nil
}

// dial returns the service's admin calls. Nothing is sent yet.
func (t *target) dial(flags *pflag.FlagSet) (*http.Admin, error) {
	u, err := t.readServer()
	if err != nil {
		return nil, err
	}
	token, err := t.token.read(flags)
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, usageError{errors.New("--token must be printable ASCII without blanks")}
	}
	log := slog.New(slog.NewTextHandler(t.stderr, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	t.token.warn(flags, log)
	warnOfMode(log, "--client-key", t.clientKey, othersMayUse)
	transport, err := t.transport()
	if err != nil {
		return nil, usageError{err}
	}
	return http.NewAdmin(&client.Client{URL: u.String(), Token: token, AllowPlainHTTP: t.allowPlainHTTP, HTTP: &nethttp.Client{
		Transport: transport,
	}}), nil
}

// transport shows the client certificate, where one was given.
func (t *target) transport() (*nethttp.Transport, error) {
	transport := nethttp.DefaultTransport.(*nethttp.Transport).Clone()
	switch {
	case (t.clientCert == "") != (t.clientKey == ""):
		return nil, errors.New("--client-cert and --client-key belong together: give both or none")
	case t.clientCert == "":
		return transport, nil
	}
	texts, err := readFiles([]string{t.clientCert, t.clientKey})
	if err != nil {
		return nil, fmt.Errorf("--client-cert and --client-key: %w", err)
	}
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return nil, fmt.Errorf("--client-cert and --client-key: %w", err)
	}
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	return transport, nil
}

// withoutTime leaves the time out of a line for whoever waits for it.
func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// readOn runs fn on what a command reads from. B is what fn needs of it: an
// interface that the store, as onDatabase, and http.Admin satisfy.
func readOn[B any](c *cobra.Command, t *target, fn func(context.Context, B) error) error {
	return working(c, t, stock.Options{ReadOnly: true}, fn)
}

// changeOn is readOn for what an actor changes.
func changeOn[B any](c *cobra.Command, t *target, by actor, fn func(context.Context, B) error) error {
	if err := by.check(); err != nil {
		return err
	}
	remote, err := t.isRemote(c.Flags())
	if err == nil && remote && sourceOf(c.Flags(), "actor") == byLine {
		err = usageError{errors.New("--actor is for the database: a service records the name of the token")}
	}
	if err != nil {
		return err
	}
	return working(c, t, stock.Options{}, fn)
}

func working[B any](c *cobra.Command, t *target, o stock.Options, fn func(context.Context, B) error) error {
	remote, err := t.isRemote(c.Flags())
	if err != nil {
		return err
	}
	if !remote {
		err := t.with(c, o, func(ctx context.Context, store *stock.Store) error { return handOver(ctx, onDatabase{store}, fn) })
		if errors.Is(err, stock.ErrInUse) {
			err = fmt.Errorf("%s; if that is drawsvc serve, ask it with --server and --token-file", message(err))
		}
		return err
	}
	admin, err := t.dial(c.Flags())
	if err != nil {
		return err
	}
	defer func() { _ = admin.Close() }() // idle connections
	err = handOver(c.Context(), admin, fn)
	if errors.Is(err, client.ErrPlainHTTP) {
		return usageError{fmt.Errorf("--%s: the token would be sent without encryption: use https, or --%s in a network that is trusted", serverFlag, plainHTTPFlag)}
	}
	if draw.CodeOf(err) == draw.CodeOutcomeUnknown {
		return firstOf(admin.CheckScheme(c.Context()), err)
	}
	return err
}

// What commands need, both backends have.
var (
	_, _ http.Pools      = onDatabase{}, (*http.Admin)(nil)
	_, _ http.Deleter    = onDatabase{}, (*http.Admin)(nil)
	_, _ http.Stocker    = onDatabase{}, (*http.Admin)(nil)
	_, _ http.Importer   = onDatabase{}, (*http.Admin)(nil)
	_, _ http.Ruler      = onDatabase{}, (*http.Admin)(nil)
	_, _ http.Odds       = onDatabase{}, (*http.Admin)(nil)
	_, _ http.Exporter   = onDatabase{}, (*http.Admin)(nil)
	_, _ http.Scheduler  = onDatabase{}, (*http.Admin)(nil)
	_, _ eraser          = onDatabase{}, (*http.Admin)(nil)
	_, _ versionSkipper  = onDatabase{}, (*http.Admin)(nil)
	_, _ revealer        = onDatabase{}, (*http.Admin)(nil)
	_, _ poolFinder      = onDatabase{}, (*http.Admin)(nil)
	_, _ auditor         = onDatabase{}, (*http.Admin)(nil)
	_, _ logWriter       = onDatabase{}, (*http.Admin)(nil)
	_, _ awardFinder     = onDatabase{}, (*http.Admin)(nil)
	_, _ moveReader      = onDatabase{}, (*http.Admin)(nil)
	_, _ http.Statements = onDatabase{}, (*http.Admin)(nil)
	_, _ stander         = onDatabase{}, (*http.Admin)(nil)
	_, _ jobReader       = onDatabase{}, (*http.Admin)(nil)
	_, _ jobChanger      = onDatabase{}, (*http.Admin)(nil)
)

// handOver runs fn on a backend, which must be one of those above.
func handOver[B any](ctx context.Context, backend any, fn func(context.Context, B) error) error {
	b, ok := backend.(B)
	if !ok {
		return fmt.Errorf("%T cannot do this", backend)
	}
	return fn(ctx, b)
}

// onlyOnDatabase is readOn for a form of a command that no service has.
func onlyOnDatabase(c *cobra.Command, t *target, what string, fn func(context.Context, *stock.Store) error) error {
	remote, err := t.isRemote(c.Flags())
	if err == nil && remote {
		err = alone(what)
	}
	if err != nil {
		return err
	}
	return t.with(c, stock.Options{ReadOnly: true}, fn)
}

// alone is the error of a command that was to ask a service and cannot; what is
// its path.
func alone(what string) error {
	return usageError{fmt.Errorf("%s works on the database alone, not with --server: name the database with --database", strings.TrimPrefix(what, "drawsvc "))}
}
