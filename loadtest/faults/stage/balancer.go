package stage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
)

// BalancerEvery is the time between two requests of /readyz, and so the maximum time
// before the balancer learns that an instance is shutting down.
const BalancerEvery = 2 * time.Second

// askMax is the maximum time that an instance may take to answer /readyz.
const askMax = 900 * time.Millisecond

// Balancer is a reverse proxy that distributes requests round robin. It requests
// /readyz of each instance at an interval, and relies on the last answer until the
// next. A request that fails is not sent to another instance.
type Balancer struct {
	// URL is the balancer's address for clients.
	URL string
	// Refused counts connections that an instance refused; Cut counts those that ended
	// before the response.
	Refused, Cut atomic.Int64
	turn         atomic.Uint64
	backends     []*backend
}

type backend struct {
	url   string
	proxy *httputil.ReverseProxy
	in    atomic.Bool
}

// StartBalancer starts a balancer in front of programs at the given URLs.
func StartBalancer(s *harness.Site, every time.Duration, urls ...string) *Balancer {
	b := &Balancer{}
	ctx := s.Context()
	transport := &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
	s.Cleanup(transport.CloseIdleConnections)
	for _, u := range urls {
		to, err := url.Parse(u)
		s.Must(err)
		one := &backend{url: u, proxy: &httputil.ReverseProxy{
			Transport: transport, ErrorHandler: b.failed,
			Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		}}
		b.backends = append(b.backends, one)
		one.ask(ctx)
		go one.follow(ctx, every)
	}
	b.URL = "http://" + harness.Serve(s, b)
	return b
}

func (b *backend) follow(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			b.ask(ctx)
		}
	}
}

func (b *backend) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askMax)
	defer cancel()
	_, err := harness.Fetch(ctx, b.url+"/readyz")
	b.in.Store(err == nil)
}

// Await waits until the balancer sends requests to an instance again.
func (b *Balancer) Await(ctx context.Context, n int) error {
	return Within(ctx, harness.StartMax, func() error {
		if !b.backends[n].in.Load() {
			return fmt.Errorf("the balancer sends nothing to instance %d", n)
		}
		return nil
	})
}

// ServeHTTP implements http.Handler.
func (b *Balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for range b.backends {
		next := b.backends[b.turn.Add(1)%uint64(len(b.backends))]
		if next.in.Load() {
			next.proxy.ServeHTTP(w, r)
			return
		}
	}
	http.Error(w, "no instance is ready", http.StatusBadGateway)
}

// failed answers a request that got no response.
func (b *Balancer) failed(w http.ResponseWriter, r *http.Request, err error) {
	op, isOp := errors.AsType[*net.OpError](err)
	switch {
	case r.Context().Err() != nil: // the client hung up
	case isOp && op.Op == "dial":
		b.Refused.Add(1)
	default:
		b.Cut.Add(1)
	}
	http.Error(w, "the instance gave no response", http.StatusBadGateway)
}

// proxyPage is the page with the configuration of nginx for users.
const proxyPage = "docs/reverse-proxy.md"

// StartNginx starts nginx in front of the instances, with the configuration of the page
// about reverse proxies as changed by edit, and returns its URL. It passes on calls of
// operators too, as the page allows, because the load moves stock.
func (w *World) StartNginx(edit func(config string) string) string {
	listen := servertest.FreeAddr(w.Site)
	var addresses []string
	for _, i := range w.Instances {
		addresses = append(addresses, i.Address)
	}
	const public = `location ~ ^/(draw$|`
	config := servertest.WithoutCallerBounds(servertest.NginxOfPage(w.Site, proxyPage, listen, addresses...))
	if !strings.Contains(config, public) {
		w.Site.Fatalf("%s has no %q", proxyPage, public)
	}
	config = strings.Replace(config, public, public+`admin/|`, 1)
	servertest.StartNginx(w.Site, listen, edit(config))
	return "http://" + listen
}
