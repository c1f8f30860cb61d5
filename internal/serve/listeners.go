package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/spf13/cobra"

	"drawsvc/internal/http"
	"drawsvc/internal/setting"
)

// listeners holds the addresses on which the service listens.
type listeners struct {
	main net.Listener
	// metrics is nil without --metrics-listen.
	metrics net.Listener
	// loopback means that only this machine can reach main.
	loopback bool
	// tls is nil without --tls-cert.
	tls *tls.Config
	// shown is nil without --tls-cert.
	shown *certificate
	// callersOf is nil without --tls-client-ca.
	callersOf func() *x509.CertPool
	// files are the files of TLS.
	files []*reloaded
}

// openListeners opens the listeners. The resolved address decides whether other machines
// can reach the service, because a name may resolve to any address.
func (c *Config) openListeners(cmd *cobra.Command) (d *listeners, err error) {
	d = &listeners{}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if err := d.readTLS(c); err != nil {
		return d, setting.AsUsage(err)
	}
	var listening net.ListenConfig
	if d.main, err = listening.Listen(cmd.Context(), "tcp", c.listen); err != nil {
		return d, fmt.Errorf("--listen: %w", err)
	}
	d.loopback = isLoopbackAddr(d.main.Addr())
	if err := c.validateAddress(d.loopback, cmd.Flags()); err != nil {
		return d, setting.AsUsage(err)
	}
	if c.metrics != "" {
		if d.metrics, err = listening.Listen(cmd.Context(), "tcp", c.metrics); err != nil {
			return d, fmt.Errorf("--metrics-listen: %w", err)
		}
	}
	return d, nil
}

// readTLS reads the certificate of the service and the authorities of its callers, if
// files of them are given.
func (d *listeners) readTLS(c *Config) error {
	if c.tlsCert == "" {
		return nil
	}
	shown, demanded := &certificate{}, &authorities{}
	d.tls, d.shown = shown.config(), shown
	pair := &reloaded{name: "--tls-cert", paths: []string{c.tlsCert, c.tlsKey}, use: shown.use}
	if _, err := pair.readAll(); err != nil {
		return fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	d.files = append(d.files, pair)
	if c.tlsClientCA == "" {
		return nil
	}
	callers := &reloaded{name: "--tls-client-ca", paths: []string{c.tlsClientCA}, use: demanded.use}
	if _, err := callers.readAll(); err != nil {
		return fmt.Errorf("--tls-client-ca: %w", err)
	}
	d.files = append(d.files, callers)
	d.callersOf = demanded.current.Load
	demanded.ask(d.tls)
	return nil
}

func isLoopbackAddr(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// close closes the listeners that serve has not closed.
func (d *listeners) close() {
	for _, l := range []net.Listener{d.main, d.metrics} {
		if l != nil {
			_ = l.Close() // it may be closed already
		}
	}
}

// serve serves all addresses until ctx ends and the service has drained. The metrics
// can be read until then.
func (d *listeners) serve(ctx context.Context, s *http.Server, log *slog.Logger) error {
	if d.metrics == nil {
		return s.Serve(ctx, d.main)
	}
	log.Info("listening for metrics", "metrics_address", d.metrics.Addr().String())
	probes, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- s.ServeProbes(probes, d.metrics) }()
	err := s.Serve(ctx, d.main)
	end()
	return errors.Join(err, <-ended)
}
