package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"drawsvc/internal/serve"
	"drawsvc/internal/setting"
)

// healthcheckMax is the timeout of the check.
const healthcheckMax = 5 * time.Second

func healthcheckCommand(env setting.Environment) *cobra.Command {
	var address, listen, cert string
	c := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask /readyz of a service; exit code 0 when it is ready, else 1",
		Args:  noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			target, err := healthURL(address, listen, cert)
			if err != nil {
				return setting.AsUsage(err)
			}
			if err := checkHealth(c.Context(), target, cert); err != nil {
				return err
			}
			_, err = fmt.Fprintln(env.Stdout, "ready")
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&address, "url", "", "`URL` of the service (default: the service that --listen names)")
	f.StringVar(&listen, "listen", serve.ListenDefault, "`address` that the service listens on")
	f.StringVar(&cert, "tls-cert", "", "`file` of the certificate of the service; it speaks HTTPS then")
	return c
}

// healthURL returns the URL of /readyz.
func healthURL(address, listen, cert string) (string, error) {
	if address != "" {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return "", errors.New("--url must be such as http://127.0.0.1:8080")
		}
		return u.JoinPath("readyz").String(), nil
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", fmt.Errorf("--listen must be HOST:PORT: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http"
	if cert != "" {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port) + "/readyz", nil
}

// checkHealth returns nil if the service reports that it is ready.
func checkHealth(ctx context.Context, target, cert string) error {
	ctx, cancel := context.WithTimeout(ctx, healthcheckMax)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true}
	if cert != "" {
		pinned, err := pin(cert)
		if err != nil {
			return err
		}
		transport.TLSClientConfig = pinned
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", target, answer.Status)
	}
	return nil
}

// pin trusts only the certificate of a file. Its names do not matter, because the check
// connects to the machine itself.
func pin(file string) (*tls.Config, error) {
	text, err := setting.ReadPrivate(file)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("--tls-cert: the file holds no certificate")
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyPeerCertificate is stricter
		VerifyPeerCertificate: func(shown [][]byte, _ [][]*x509.Certificate) error {
			if len(shown) == 0 || !bytes.Equal(shown[0], block.Bytes) {
				return errors.New("the service shows another certificate than that of --tls-cert")
			}
			return nil
		},
	}, nil
}
