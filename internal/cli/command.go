package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os/user"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"drawsvc/client"
	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/serve"
	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
)

// command is a command that makes calls, with the flags that such commands share.
type command struct {
	*cobra.Command
	env    setting.Environment
	on     target
	by     actor
	pool   poolName
	output output
	// changes means that the command records its actor. writes means that it writes, but
	// records no actor.
	changes, writes bool
	// closes, unless it is nil, is called at the end.
	closes func()
}

// part adds to a command something that several commands share, for example flags.
type part func(c *command)

// acting makes c a command that changes something, and adds --actor.
func acting(c *command) {
	c.changes = true
	c.by.flag(c.Command)
}

// writing makes c a command that writes to the database, but records no actor.
func writing(c *command) { c.writes = true }

// printing adds --output, for a command whose output has two forms.
func printing(c *command) { c.output.flag(c.Flags()) }

// ofPool adds --pool, for a command about one pool.
func ofPool(c *command) { c.pool.declare(c.Command, false) }

// namingPool is like ofPool, for a command whose argument may also name the pool.
func namingPool(c *command) { c.pool.declare(c.Command, true) }

// newCommand returns a command that works on the database or on a service. It accepts
// no arguments unless a part or its creator sets that.
func newCommand(env setting.Environment, use, short string, parts ...part) *command {
	c := &command{Command: &cobra.Command{Use: use, Short: short, Args: noArguments}, env: env}
	c.on.flag(c.Command, env)
	for _, add := range parts {
		add(c)
	}
	return c
}

// does sets the action of the command: check validates the command line before anything
// is opened, and may be nil; do makes the calls.
func (c *command) does(check func(args []string) error, do func(ctx context.Context, on *api.Client, args []string) error) *cobra.Command {
	c.RunE = func(_ *cobra.Command, args []string) error {
		defer func() {
			if c.closes != nil {
				c.closes()
			}
		}()
		if check != nil {
			if err := check(args); err != nil {
				return err
			}
		}
		run := func(ctx context.Context, on *api.Client) error { return do(ctx, on, args) }
		if c.changes {
			return changeOn(c.Command, &c.on, c.by, run)
		}
		return c.on.working(c.Command, stock.Options{ReadOnly: !c.writes}, run)
	}
	return c.Command
}

// openFile opens a file before the database, so that a wrong name changes nothing. It
// is closed when the command ends.
func (c *command) openFile(name string) (io.Reader, error) {
	file, done, err := openImport(name, c.env)
	c.closes = done
	return file, err
}

// newGroup returns a command that only has subcommands.
func newGroup(use, short string, below ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: noArguments, RunE: needsSubcommand}
	c.AddCommand(below...)
	return c
}

// target is the database, or the service over HTTP, on which an admin command works.
type target struct {
	setting.Database
	server string
	token  setting.Secret
	// clientCert and clientKey are files that the service may demand of callers.
	clientCert, clientKey string
	// allowPlainHTTP allows sending the token unencrypted to another machine.
	allowPlainHTTP bool
	// local are the options for calls of a command on the database.
	local serve.LocalOptions
}

// flag declares the flags for the database and for the service.
func (t *target) flag(c *cobra.Command, env setting.Environment) {
	t.Database.Flag(c, env)
	f := c.Flags()
	f.StringVar(&t.server, setting.ServerFlag, "", "`URL` of a service that is asked over HTTP, in place of the database")
	t.token.Flag(f, setting.TokenFlag, "", "bearer `token` for the service")
	f.StringVar(&t.clientCert, "client-cert", "", "`file` of a client certificate for the service, where it demands one")
	f.StringVar(&t.clientKey, "client-key", "", "`file` of that certificate's key")
	f.BoolVar(&t.allowPlainHTTP, setting.PlainHTTPFlag, false, "send the token without encryption to another machine, in a network that is trusted")
}

// isRemote reports whether the command calls a service. The command line overrides the
// environment; if the environment names both, that is an error.
func (t *target) isRemote(flags *pflag.FlagSet) (bool, error) {
	server, database := setting.SourceOf(flags, setting.ServerFlag), setting.SourceOf(flags, setting.DatabaseFlag, setting.DatabaseFlag+setting.FileSuffix)
	switch {
	case server == setting.ByLine && database == setting.ByLine:
		return false, setting.AsUsage(errors.New("give --server or --database, not both"))
	case server == setting.ByVariable && database == setting.ByVariable:
		return false, setting.AsUsage(errors.New("DRAWSVC_SERVER and DRAWSVC_DATABASE are both set: choose with --server or --database"))
	case server > database:
		return true, nil
	case setting.SourceOf(flags, setting.TokenFlag, setting.TokenFlag+setting.FileSuffix) == setting.ByLine:
		return false, setting.AsUsage(errors.New("a token is for --server, which is missing"))
	}
	return false, nil
}

// readServer returns the service's address.
func (t *target) readServer() (*url.URL, error) {
	u, err := url.Parse(t.server)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "":
		return nil, setting.AsUsage(errors.New("--server must be such as https://draws.example"))
	case u.User != nil:
		return nil, setting.AsUsage(errors.New("--server holds a user or a password: give the service's token with --token-file"))
	}
	return u, nil
}

// dial returns a client of the service, without sending anything.
func (t *target) dial(flags *pflag.FlagSet) (remote *api.Remote, err error) {
	u, err := t.readServer()
	if err != nil {
		return remote, err
	}
	token, err := t.token.Read(flags)
	if err != nil {
		return remote, err
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return remote, setting.AsUsage(errors.New("--token must be printable ASCII without blanks"))
	}
	log := slog.New(slog.NewTextHandler(t.Stderr, &slog.HandlerOptions{ReplaceAttr: setting.WithoutTime}))
	t.token.Warn(flags, log)
	setting.WarnOfMode(log, "--client-key", t.clientKey, setting.OthersMayUse)
	transport, err := t.transport()
	if err != nil {
		return remote, setting.AsUsage(err)
	}
	return &api.Remote{Client: &client.Client{URL: u.String(), Token: token, AllowPlainHTTP: t.allowPlainHTTP, HTTP: &http.Client{
		Transport: transport,
	}}}, nil
}

// transport returns an HTTP transport that presents the client certificate, if there is
// one.
func (t *target) transport() (*http.Transport, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	switch {
	case (t.clientCert == "") != (t.clientKey == ""):
		return nil, errors.New("--client-cert and --client-key belong together: give both or none")
	case t.clientCert == "":
		return transport, nil
	}
	texts, err := setting.ReadFiles([]string{t.clientCert, t.clientKey})
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

// takeIdentities passes identities to the calls on the database, and reports whether
// there are any. A service has its own identities: with --server the flag is an error,
// and the variable is ignored, because it may be meant for serve.
func (t *target) takeIdentities(from *setting.IdentityFlag) (bool, error) {
	remote, err := t.isRemote(from.Flags)
	switch {
	case err != nil:
		return false, err
	case remote && setting.SourceOf(from.Flags, setting.IdentityName) == setting.ByLine:
		return false, setting.AsUsage(errors.New("--seed-identity-file is for the database: a service unseals by its own"))
	case remote:
		return false, nil
	}
	t.local.Identities, err = from.Read()
	return t.local.Identities != nil, err
}

// takeSealKeys passes seal keys to the calls on the database. A service has its own
// keys: with --server the flag is an error, and the variable is ignored, because it may be
// meant for serve.
func (t *target) takeSealKeys(from *setting.SealKeysFlag) error {
	remote, err := t.isRemote(from.Flags)
	switch {
	case err != nil:
		return err
	case remote && setting.SourceOf(from.Flags, setting.SealKeysName) == setting.ByLine:
		return setting.AsUsage(errors.New("--seal-keys is for the database: a service has keys of its own"))
	case remote:
		return nil
	}
	t.local.SealKeys, err = from.Read()
	return err
}

// changeOn is like working, for a change by an actor.
func changeOn(c *cobra.Command, t *target, by actor, fn func(context.Context, *api.Client) error) error {
	if err := by.check(); err != nil {
		return err
	}
	remote, err := t.isRemote(c.Flags())
	if err == nil && remote && setting.SourceOf(c.Flags(), "actor") == setting.ByLine {
		err = setting.AsUsage(errors.New("--actor is for the database: a service records the name of the token"))
	}
	if err != nil {
		return err
	}
	t.local.Actor = string(by)
	return t.working(c, stock.Options{}, fn)
}

// working runs fn with a client, whose calls go to a service, or within this process to
// the handlers on the database.
func (t *target) working(c *cobra.Command, o stock.Options, fn func(context.Context, *api.Client) error) error {
	remote, err := t.isRemote(c.Flags())
	if err != nil {
		return err
	}
	if !remote {
		return t.workLocally(c, o, fn)
	}
	calls, err := t.dial(c.Flags())
	if err != nil {
		return err
	}
	defer func() { _ = calls.Close() }() // closes idle connections
	err = fn(c.Context(), api.NewClient(calls))
	if errors.Is(err, client.ErrPlainHTTP) {
		return setting.AsUsage(fmt.Errorf("--%s: the token would be sent without encryption: use https, or --%s in a network that is trusted", setting.ServerFlag, setting.PlainHTTPFlag))
	}
	if draw.CodeOf(err) == draw.CodeOutcomeUnknown {
		return setting.FirstOf(calls.CheckScheme(c.Context()), err)
	}
	return err
}

// workLocally runs fn with a client whose calls go, within this process, to the handlers
// on the database.
func (t *target) workLocally(c *cobra.Command, o stock.Options, fn func(context.Context, *api.Client) error) error {
	o.Identities, o.SealKeys = t.local.Identities, t.local.SealKeys
	err := t.With(c, o, func(ctx context.Context, store *stock.Store) error {
		calls, err := serve.NewLocal(store, t.local)
		if err != nil {
			return err
		}
		return fn(ctx, api.NewClient(calls))
	})
	if errors.Is(err, stock.ErrInUse) {
		err = fmt.Errorf("%s, or call it with --server and --token-file if it is drawsvc serve", setting.Message(err))
	}
	return err
}

// onlyOnDatabase runs fn on the database, for a form of a command that works only there.
func onlyOnDatabase(c *cobra.Command, t *target, what string, fn func(context.Context, *stock.Store) error) error {
	remote, err := t.isRemote(c.Flags())
	if err == nil && remote {
		err = alone(what)
	}
	if err != nil {
		return err
	}
	return t.With(c, stock.Options{ReadOnly: true, SealKeys: t.local.SealKeys}, fn)
}

// alone returns the error of a command that cannot be run on a service; what is the
// command's path.
func alone(what string) error {
	return setting.AsUsage(fmt.Errorf("%s works only on the database, not with --server: name the database with --database", strings.TrimPrefix(what, "drawsvc ")))
}

// actor is recorded as the author of a change: --actor, or the user of the operating
// system.
type actor string

func (a *actor) flag(c *cobra.Command) {
	name := "cli"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name += ":" + u.Username
	}
	c.Flags().StringVar((*string)(a), "actor", name, "`name` of the recorded author")
	c.Flags().Lookup("actor").DefValue = "cli:USER" // help and manual show this as the default
}

// check refuses an actor that cannot be recorded.
func (a actor) check() error {
	if err := draw.CheckActor(string(a)); err != nil {
		return setting.AsUsage(fmt.Errorf("--actor: %w", err))
	}
	return nil
}

// poolName is the pool that a command is about, from its argument or from --pool.
type poolName string

// declare adds the flag, and the argument if the command has one. An invalid pool id is
// refused before the command begins.
func (p *poolName) declare(c *cobra.Command, takesArgument bool) {
	c.PreRunE = func(*cobra.Command, []string) error { return p.check() }
	usage := "`ID` of the pool"
	c.Args = noArguments
	if takesArgument {
		usage += ", instead of the argument"
		c.Args = p.argument
		c.Annotations = map[string]string{argumentIsPool: "true"}
	}
	c.Flags().StringVar((*string)(p), "pool", "", usage)
}

// optional adds the flag to a command that does not need a pool.
func (p *poolName) optional(c *cobra.Command, usage string) {
	c.Args = noArguments
	c.PreRunE = func(*cobra.Command, []string) error {
		if *p == "" {
			return nil
		}
		return p.check()
	}
	c.Flags().StringVar((*string)(p), "pool", "", usage)
}

// argument is cobra's check of arguments. It runs before the environment is read. So an
// argument overrides the variable, as the flag does.
func (p *poolName) argument(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if err := arguments(1)(c, args); err != nil {
		return err
	}
	if c.Flags().Changed("pool") {
		return errors.New("name the pool once: as the argument or with --pool")
	}
	return c.Flags().Set("pool", args[0])
}

// check refuses an invalid pool id.
func (p *poolName) check() error { return draw.CheckID("the pool's id", string(*p)) }

// argumentIsPool is the annotation of commands whose argument is a pool.
const argumentIsPool = "drawsvc_argument_is_pool"
