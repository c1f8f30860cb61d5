package serve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// certificate is the certificate that the service presents to HTTPS callers.
type certificate struct {
	current atomic.Pointer[tls.Certificate]
	// end is the earliest time at which a certificate of the chain ends.
	end atomic.Pointer[time.Time]
}

// use parses a certificate chain and its key, both in PEM, and uses them from now on.
func (c *certificate) use(texts [][]byte) error {
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return err
	}
	var end time.Time
	for _, der := range pair.Certificate {
		one, err := x509.ParseCertificate(der)
		if err != nil {
			return err
		}
		if end.IsZero() || one.NotAfter.Before(end) {
			end = one.NotAfter
		}
	}
	c.current.Store(&pair)
	c.end.Store(&end)
	return nil
}

// show adds the gauge of the time at which the chain ends. c may be nil.
func (c *certificate) show(r prometheus.Registerer) {
	promauto.With(r).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "drawsvc_certificate_end_timestamp_seconds", Help: "When the first certificate of the chain of --tls-cert ends; +Inf without one.",
	}, func() float64 {
		if c == nil {
			return math.Inf(1)
		}
		return timestamp(*c.end.Load())
	})
}

// config returns settings that present the current certificate. For TLS 1.2 they allow
// only suites with authenticated encryption.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		CipherSuites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}

// authorities are the issuers whose certificates callers of admin calls must present.
type authorities struct {
	current atomic.Pointer[x509.CertPool]
}

// use parses certificates in PEM and uses them from now on.
func (a *authorities) use(texts [][]byte) error {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(texts[0]) {
		return errors.New("the file holds no certificate in PEM")
	}
	a.current.Store(pool)
	return nil
}

// ask sets that a handshake requests from the caller a certificate of one of the current
// authorities. A caller without a certificate is served as well. Each call is checked
// separately, even on a connection that is older than the last change of the settings.
func (a *authorities) ask(settings *tls.Config) {
	settings.ClientAuth = tls.RequestClientCert
	base := settings.Clone()
	settings.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		asking := base.Clone()
		asking.ClientCAs = a.current.Load()
		return asking, nil
	}
}
