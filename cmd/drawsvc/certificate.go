package main

import (
	"crypto/tls"
	"sync/atomic"
)

// certificate is what the service shows to callers by HTTPS.
type certificate struct {
	current atomic.Pointer[tls.Certificate]
}

// use takes the texts of a certificate chain and of its key, in PEM.
func (c *certificate) use(texts [][]byte) error {
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return err
	}
	c.current.Store(&pair)
	return nil
}

// config returns settings that show the certificate of the moment.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}
