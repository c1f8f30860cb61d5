package experiments

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"drawsvc/internal/access"
	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// bystander is a further service, with HTTPS, named tokens and few connections, which the
// Prometheus scrapes too.
type bystander struct {
	folder, address, metrics string
	// token is the present token of its file.
	token string
}

const (
	// bystanderConnections is the maximum number of the bystander's connections.
	bystanderConnections = 20
	// endsIn is the time until the certificate and the token end, in the fault about
	// their ends. The alerts fire if less than 14 days are left.
	endsIn = 72 * time.Hour
)

func startBystander(t *trial) *bystander {
	b := &bystander{folder: t.Site.TempDir(), address: servertest.FreeAddr(t.Site), metrics: servertest.FreeAddr(t.Site)}
	t.Must(b.write(time.Now().AddDate(1, 0, 0), time.Time{}))
	process, err := harness.Start(nil, nil, filepath.Join(stage.Bin, stage.Released),
		"serve", "--listen", b.address, "--metrics-listen", b.metrics, "--database", "sqlite:"+filepath.Join(b.folder, "draws.db"),
		"--tls-cert", filepath.Join(b.folder, "cert"), "--tls-key", filepath.Join(b.folder, "key"), "--tokens", filepath.Join(b.folder, "tokens"),
		"--connections-max", fmt.Sprint(bystanderConnections),
		"--catalogue-url", fmt.Sprintf("http://%s/%d", harness.Serve(t.Site, t.Source), len(t.Instances)), "--catalogue-every", "1s")
	t.Must(err)
	t.Site.Cleanup(process.Kill)
	return b
}

// write replaces the certificate and the token by others, which end at the given times; the
// zero time means never.
func (b *bystander) write(certificate, token time.Time) error {
	cert, key, err := newCertificate(certificate)
	if err != nil {
		return err
	}
	secret, made, err := access.Generate("shop", access.Draw, token)
	if err != nil {
		return err
	}
	entry, err := access.FileEntry(&made)
	b.token = secret
	for name, text := range map[string]string{"cert": cert, "key": key, "tokens": fmt.Sprintf(`{"tokens":[%s]}`, entry)} {
		path := filepath.Join(b.folder, name)
		err = errors.Join(err, os.WriteFile(path+".next", []byte(text), 0o600), os.Rename(path+".next", path))
	}
	return err
}

// newCertificate returns a certificate that ends at a time, and its key, in PEM.
func newCertificate(end time.Time) (cert, key string, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(end.Unix()), DNSNames: []string{"draws.example.org"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return "", "", err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	text := func(kind string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	return text("CERTIFICATE", der), text("PRIVATE KEY", secret), err
}

// call makes a call with the present token.
func (b *bystander) call(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+b.address+"/pools/none", http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+b.token)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true} // its certificate is self-signed
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// nearEnds gives the bystander a certificate and a token that end in three days.
func (a *alarm) nearEnds() (func() error, error) {
	end := time.Now().Add(endsIn)
	return func() error { return a.bystander.write(time.Now().AddDate(1, 0, 0), time.Time{}) }, a.bystander.write(end, end)
}

// useExpired gives the bystander a token that has expired, and makes calls with it.
func (a *alarm) useExpired() (func() error, error) {
	a.Must(a.bystander.write(time.Now().AddDate(1, 0, 0), time.Now().Add(-time.Hour)))
	return a.keepCalling(), nil
}

// useWrong calls the bystander with an unknown token.
func (a *alarm) useWrong() (func() error, error) {
	a.Must(a.bystander.write(time.Now().AddDate(1, 0, 0), time.Time{}))
	a.bystander.token = "wrong"
	return a.keepCalling(), nil
}

// keepCalling calls the bystander, which refuses the token, until end is called.
func (a *alarm) keepCalling() (end func() error) {
	return a.meanwhile(func(ctx context.Context) {
		_ = a.bystander.call(ctx) // it is refused
		time.Sleep(100 * time.Millisecond)
	})
}

// fillConnections holds nine tenths of the connections that the bystander accepts.
func (a *alarm) fillConnections() (func() error, error) {
	var all []net.Conn
	end := func() (err error) {
		for _, c := range all {
			err = errors.Join(err, c.Close())
		}
		return err
	}
	for range bystanderConnections * 9 / 10 {
		var dialer net.Dialer
		c, err := dialer.DialContext(a.Ctx, "tcp", a.bystander.address)
		if err != nil {
			return end, err
		}
		all = append(all, c)
	}
	return end, nil
}

// loseTargets queries a Prometheus that finds no instance.
func (a *alarm) loseTargets() (func() error, error) {
	former := a.prometheus
	a.prometheus = servertest.StartPrometheus(a.Site, a.rules, harness.AdminToken)
	return func() error { a.prometheus = former; return nil }, nil
}

// agendaSoon is when items of the faults about agendas are due.
const agendaSoon = 3 * time.Second

func (a *alarm) plan(pool, item string) error {
	at := time.Now().Add(agendaSoon).UTC().Format("2006-01-02T15:04:05.000000Z")
	_, err := harness.Operate(a.Ctx, http.MethodPost, a.Instances[0].URL()+"/admin/pools/"+pool+"/agenda", fmt.Sprintf(`{"at":%q,%s}`, at, item), http.StatusCreated)
	return err
}

// planImpossible plans a withdrawal of units that are drawn before it is due.
func (a *alarm) planImpossible() (func() error, error) {
	pool := a.Pool("alert-failed")
	a.Must(a.MakePool(pool, 20))
	a.Must(a.plan(pool, `"prize":"gold","delta":-20,"reason":"test"`))
	return nothing, a.insist(a.asking(pool, 1)[0])
}

// holdPool locks the row of a pool, so that no instance can carry out a due item.
func (a *alarm) holdPool() (func() error, error) {
	pool := a.Pool("alert-late")
	a.Must(a.MakePool(pool, 20))
	a.Must(a.plan(pool, `"state":"paused"`))
	tx, err := a.Base.Admin.BeginTx(a.Ctx, nil)
	if err != nil {
		return nil, err
	}
	_, err = tx.ExecContext(a.Ctx, `SELECT 1 FROM pools WHERE id = '`+pool+`' FOR UPDATE`)
	return tx.Rollback, err
}
