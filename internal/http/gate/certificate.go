package gate

import (
	"crypto/x509"
	nethttp "net/http"
	"slices"
	"time"

	"drawsvc/internal/access"
	"drawsvc/internal/draw"
)

// checkCertificate refuses an admin call whose connection has not shown a currently
// valid client certificate, if the operator demands one.
func (g *Gate) checkCertificate(need access.Role, r *nethttp.Request) error {
	if g.clientCAs == nil || slices.Contains([]access.Role{None, access.Draw, access.Metrics}, need) || hasCertificate(r, g.clientCAs(), g.Now()) {
		return nil
	}
	return draw.Errorf(draw.CodeForbidden, "admin calls need a client certificate of an authority in --tls-client-ca")
}

// hasCertificate reports whether the authorities have issued the caller's certificate,
// and it is valid now. The handshake has proven that the caller has its key.
func hasCertificate(r *nethttp.Request, authorities *x509.CertPool, now time.Time) bool {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return false
	}
	chain := x509.NewCertPool()
	for _, c := range r.TLS.PeerCertificates[1:] {
		chain.AddCert(c)
	}
	_, err := r.TLS.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: authorities, Intermediates: chain, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err == nil
}
