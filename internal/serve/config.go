package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"drawsvc/internal/access"
	"drawsvc/internal/draw"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/proof"
	"drawsvc/internal/setting"
)

// Config is the command line of `serve`.
type Config struct {
	listen      string
	Database    setting.Database
	mode        string
	attempts    int
	budget      time.Duration
	lock        lockFlags
	jobs        jobFlags
	hooks       hookFlags
	batchMax    int
	queueMax    int
	timeout     time.Duration
	adminSecret setting.Secret
	drawSecret  setting.Secret
	publicDraw  bool
	tokensFile  string
	ticketsFile string
	sealFlag    setting.SealKeysFlag
	recipients  setting.RecipientsFlag
	identity    setting.IdentityFlag
	origin      string
	// operator is the name in place of drawsvc on the pages.
	operator    string
	tlsCert     string
	tlsKey      string
	tlsClientCA string
	metrics     string
	// metricsByPool adds metrics for the queue of each pool.
	metricsByPool bool
	hosts         []string
	proxies       []string
	delay         time.Duration
	clockLeap     time.Duration
	connections   int
	migrate       bool
	demo          bool
	logFormat     string
	logLevel      string

	// adminToken and drawToken are read from the secrets.
	adminToken, drawToken string
	// tokens are the tokens of the flags and of the file.
	tokens *tokens
	// tickets are the keys of the file of tickets.
	tickets tickets
	// seals are the keys of codes.
	seals *sealKeys
	// sealTo and unsealBy are read from recipients and identity; nil for none.
	sealTo   *proof.Recipients
	unsealBy *proof.Identities
	// trusted is read from proxies.
	trusted []netip.Prefix
	// level is read from logLevel.
	level slog.Level
}

// ListenDefault is the default of --listen.
const ListenDefault = "127.0.0.1:8080"

// Flags declares the flags of serve.
func (c *Config) Flags(cmd *cobra.Command, env setting.Environment) {
	f := cmd.Flags()
	f.StringVar(&c.listen, "listen", ListenDefault, "`address` to listen on; port 0 picks one")
	c.Database.Flag(cmd, env)
	f.StringVar(&c.mode, "mode", lockmode.ForUpdate, "concurrency control: "+strings.Join(lockmode.Names(), ", "))
	f.IntVar(&c.attempts, "optimistic-tries", 10, "maximum number of attempts at a batch in optimistic mode")
	f.DurationVar(&c.budget, "optimistic-budget", 500*time.Millisecond, "maximum time for the attempts in optimistic mode")
	c.lock.flags(f)
	c.jobs.flags(cmd)
	c.hooks.flags(cmd)
	f.IntVar(&c.batchMax, "batch-max", 512, "maximum batch size (draws per transaction); 1 disables group commit")
	f.IntVar(&c.queueMax, "queue-max", 4096, "maximum number of draws that wait per pool")
	f.DurationVar(&c.timeout, "request-timeout", 5*time.Second, "maximum time for a response")
	c.adminSecret.Flag(f, "admin-token", "", "bearer `token` of the admin calls")
	c.drawSecret.Flag(f, "draw-token", "", "bearer `token` of drawing and reading")
	f.BoolVar(&c.publicDraw, "public-draw", false, "allow draws without a token, on any address")
	f.StringVar(&c.tokensFile, "tokens", "", "`file` of named tokens with roles, read again when it changes")
	f.StringVar(&c.ticketsFile, "ticket-keys", "", "`file` of the keys of tickets, a JWKS, read again when it changes")
	c.sealFlag.Flag(f)
	c.recipients.Flag(f)
	c.identity.Flag(f)
	f.StringVar(&c.origin, "origin", "", "`HOST` under which the logs of committed pools are published (default the Host of the call that commits)")
	f.StringVar(&c.operator, "operator-name", "", "`name` at the top of the admin page and of pages of fairness, in place of drawsvc")
	f.StringVar(&c.tlsCert, "tls-cert", "", "`file` of the certificate chain, for HTTPS; read again when it changes")
	f.StringVar(&c.tlsKey, "tls-key", "", "`file` of the certificate's key")
	f.StringVar(&c.tlsClientCA, "tls-client-ca", "", "`file` of the authorities whose client certificates admin calls need; read again when it changes")
	f.StringVar(&c.metrics, "metrics-listen", "", "`address` of /metrics, /livez and /readyz without token (default none)")
	f.BoolVar(&c.metricsByPool, "metrics-by-pool", false, "have a metric of the waiting draws of each pool, at most 100 at once")
	f.StringSliceVar(&c.hosts, "allowed-hosts", nil, "`names` of the service, beside those of loopback, for callers of --demo without token")
	f.StringSliceVar(&c.proxies, "trusted-proxies", nil, "`networks` of proxies whose X-Forwarded-For is believed, such as 10.0.0.0/8")
	f.DurationVar(&c.clockLeap, "clock-leap", time.Minute, "maximum leap of the database's clock that is followed at once; 0 follows every leap")
	f.DurationVar(&c.delay, "shutdown-delay", 0, "how long draws continue after SIGTERM, while /readyz answers 503")
	f.IntVar(&c.connections, "connections-max", 0, "maximum number of callers' connections; idle ones are closed first (default below the limit of open files)")
	f.BoolVar(&c.migrate, "migrate", false, "migrate the schema of a server database first")
	f.BoolVar(&c.demo, "demo", false, "create and stock the pools of a demo if they do not exist, and print how to draw from them and verify draws")
	f.StringVar(&c.logFormat, "log-format", "", "text or json (default text on a terminal, else json)")
	f.StringVar(&c.logLevel, "log-level", "info", "debug, info, warn or error")
}

// Read reads the secrets from their files and checks everything. Its errors have one
// line each.
func (c *Config) Read(cmd *cobra.Command) error {
	flags := cmd.Flags()
	var err error
	if c.adminToken, err = c.adminSecret.Read(flags); err != nil {
		return err
	}
	if c.drawToken, err = c.drawSecret.Read(flags); err != nil {
		return err
	}
	if err := setting.FirstOf(c.Database.Check(cmd), c.lock.read(flags), c.jobs.read(flags)); err != nil {
		return err
	}
	if err := c.Validate(); err != nil {
		return setting.AsUsage(err)
	}
	c.lock.fit(c.timeout)
	if c.tokens, err = c.readTokens(); err != nil {
		return setting.AsUsage(err)
	}
	if err := c.readConnections(descriptorLimit()); err != nil {
		return setting.AsUsage(err)
	}
	if c.tickets, err = readTickets(c.ticketsFile); err != nil {
		return setting.AsUsage(err)
	}
	if c.seals, err = readSealKeys(c.sealFlag.Path); err != nil {
		return setting.AsUsage(err)
	}
	if c.sealTo, err = c.recipients.Read(); err != nil {
		return err
	}
	if c.unsealBy, err = c.identity.Read(); err != nil {
		return err
	}
	host, _, _ := net.SplitHostPort(c.listen) // checked by Validate
	if err := c.validateAddress(isLoopback(host), flags); err != nil {
		return setting.AsUsage(err)
	}
	return nil
}

// Validate refuses unknown values and impossible combinations.
func (c *Config) Validate() error {
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
	return setting.FirstOf(
		setting.Within("optimistic-budget", c.budget, time.Millisecond, time.Minute),
		c.lock.Validate(),
		c.jobs.Validate(),
		c.hooks.Validate(),
		setting.Within("request-timeout", c.timeout, 100*time.Millisecond, 10*time.Minute),
		setting.Within("clock-leap", c.clockLeap, 0, 24*time.Hour),
		setting.Within("shutdown-delay", c.delay, 0, 10*time.Minute),
		c.validateTokens(),
		c.validateNetwork(),
	)
}

// The minimum lengths of tokens prevent guessing by trial. On loopback only programs of
// this machine can try.
const (
	tokenMin     = 8
	tokenOpenMin = 16
)

func (c *Config) validateTokens() error {
	for flag, token := range map[string]string{"admin-token": c.adminToken, "draw-token": c.drawToken} {
		if token == "" {
			continue
		}
		if err := c.checkToken(flag, token); err != nil {
			return err
		}
	}
	if c.adminToken != "" && c.adminToken == c.drawToken {
		return errors.New("--admin-token and --draw-token must differ")
	}
	if c.drawToken != "" && c.publicDraw {
		return errors.New("--draw-token and --public-draw contradict each other")
	}
	return nil
}

// checkToken refuses a token that can be guessed, or cannot be sent.
func (c *Config) checkToken(flag, token string) error {
	if len(token) < tokenMin {
		return fmt.Errorf("--%s must have at least %d characters", flag, tokenMin)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("--%s must be printable ASCII without blanks", flag)
	}
	if host, _, err := net.SplitHostPort(c.listen); err == nil && !isLoopback(host) && len(token) < tokenOpenMin {
		return fmt.Errorf("--listen %s is open to others: --%s must have at least %d characters, such as those of openssl rand -base64 32",
			c.listen, flag, tokenOpenMin)
	}
	return nil
}

// validateNetwork checks the settings that decide who can reach the service, and how.
func (c *Config) validateNetwork() (err error) {
	if err := checkAddress("listen", c.listen); err != nil {
		return err
	}
	if c.metrics != "" {
		if err := checkAddress("metrics-listen", c.metrics); err != nil {
			return err
		}
	}
	if (c.tlsCert == "") != (c.tlsKey == "") {
		return errors.New("--tls-cert and --tls-key belong together: give both or none")
	}
	if c.tlsClientCA != "" && c.tlsCert == "" {
		return errors.New("--tls-client-ca needs HTTPS: give --tls-cert and --tls-key too")
	}
	if c.origin != "" {
		if err := setting.CheckOrigin(c.origin); err != nil {
			return err
		}
	}
	if err := c.validateOperator(); err != nil {
		return err
	}
	for i, host := range c.hosts {
		if host == "" || strings.ContainsAny(host, ":/*, ") {
			return fmt.Errorf("--allowed-hosts: %q must be a name without port, such as draws.example.org", host)
		}
		c.hosts[i] = strings.ToLower(host)
	}
	c.trusted = nil
	for _, text := range c.proxies {
		network, err := netip.ParsePrefix(text)
		if addr, isOne := netip.ParseAddr(text); isOne == nil {
			network, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return fmt.Errorf("--trusted-proxies: %q must be a network such as 10.0.0.0/8, or an address", text)
		}
		c.trusted = append(c.trusted, network.Masked())
	}
	return nil
}

// operatorMax is the maximum number of characters of an operator's name, chosen so that
// the name fits the top of a page.
const operatorMax = 60

// validateOperator refuses an operator's name that no page could show.
func (c *Config) validateOperator() error {
	switch {
	case c.operator == "":
		return nil
	case utf8.RuneCountInString(c.operator) > operatorMax:
		return fmt.Errorf("--operator-name is longer than %d characters", operatorMax)
	case strings.TrimSpace(c.operator) != c.operator:
		return errors.New("--operator-name has a blank at an end")
	}
	return draw.CheckName("--operator-name", c.operator)
}

// checkAddress refuses an address on which no machine can listen.
func checkAddress(flag, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--%s must be HOST:PORT: %w", flag, err)
	}
	// A port may also be the name of a service in this machine's list.
	if _, err := net.DefaultResolver.LookupPort(context.Background(), "tcp", port); err != nil {
		return fmt.Errorf("--%s must be HOST:PORT with a port from 0 to 65535, not %q", flag, port)
	}
	return nil
}

// validateAddress checks the requirements for an address that other machines can reach.
func (c *Config) validateAddress(loopback bool, flags *pflag.FlagSet) error {
	if loopback {
		return nil
	}
	if !c.tokens.keeper.Set().HasValid(access.Admin, time.Now()) {
		return fmt.Errorf("--listen %s is open to others: give --admin-token, or --tokens with a valid token of role admin", c.listen)
	}
	if c.needsDrawToken() {
		return fmt.Errorf("--listen %s is open to others: give --draw-token, or --public-draw if anyone may draw", c.listen)
	}
	if !flags.Changed("database") && !flags.Changed("database"+setting.FileSuffix) {
		return fmt.Errorf("--listen %s is open to others: name the --database; without one each instance would have a stock of its own", c.listen)
	}
	return nil
}

// needsDrawToken reports whether no setting determines yet which callers may draw.
func (c *Config) needsDrawToken() bool { return !c.tokens.keeper.Closed() && !c.publicDraw }

// isLoopback reports whether host can be reached only from this machine. The empty host
// means every address.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// readConnections sets the maximum number of connections to the default, or checks the
// given number. Without a free descriptor no connection can be accepted, not even that of
// a health check.
func (c *Config) readConnections(limit uint64) error {
	switch {
	case c.connections < 0 || c.connections > 1_000_000:
		return errors.New("--connections-max must be 1 to 1000000, or 0 for the default")
	case c.connections == 0:
		c.connections = connectionsDefault(limit)
	case limit > 0 && uint64(c.connections) >= limit:
		return fmt.Errorf("--connections-max must be below the limit of open files, which is %d (ulimit -n)", limit)
	}
	return nil
}
