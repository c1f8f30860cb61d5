package main

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"

	"drawsvc/internal/http/contract"
	"drawsvc/loadtest/harness"
)

// judged returns a run of each script that is too small to measure anything: a proxy in
// front of each instance checks every exchange against openapi.yaml.
func judged() []cell {
	list := []cell{
		draws("oversell", site{"postgres", 3}, "for-update", "", "STOCK=1,9,190", "RESTOCK=20", "AFTER=1"),
		draws("campaign", site{"mysql", 3}, "optimistic", "", "USERS=30", "VUS=20", "LATE=40"),
		draws("idempotency", site{"sqlite", 1}, "for-update", "", "KEYS=30"),
		draws("modes", site{"sqlite", 1}, "for-update", "table", "SECONDS=5"),
		draws("spike", site{"sqlite", 1}, "for-update", "", append(unhurried(), "RATE=20", "TIMES=3", "CALM=1", "PEAK=2")...),
		draws("evening", site{"sqlite", 1}, "for-update", "", "RATE=20", "PEAK_RATE=40", "RAMP_SECONDS=4", "PEAK_SECONDS=4",
			"FAILOVER_SECONDS=4", "ROLLOUT_SECONDS=4", "RESTOCK_SECONDS=6", "CLOSE_SECONDS=4"),
		// The number of callers does not rise after the start, because later callers
		// would open connections.
		draws("soak", site{"sqlite", 1}, "for-update", "", "RATE=50", "VUS_MAX=40", "SECONDS=8", "EVERY=1", "DROPPED_PERCENT=50"),
	}
	for i := range list {
		list[i].judged = true
	}
	return list
}

type judgement struct {
	kinds *contract.Kinds

	mu    sync.Mutex
	wrong []string
}

const faultsMax = 20

// judge starts a proxy in front of each address, and returns the proxies' addresses.
func judge(s *harness.Site, urls []string) ([]string, *judgement) {
	c, err := contract.Own()
	s.Must(err)
	j := &judgement{kinds: contract.NewKinds(c)}
	transport := &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
	s.Cleanup(transport.CloseIdleConnections)
	var proxies []string
	for _, raw := range urls {
		to, err := url.Parse(raw)
		s.Must(err)
		proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
		proxies = append(proxies, "http://"+harness.Serve(s, contract.NewJudge(proxy, j.kinds.Check, j.report)))
	}
	return proxies, j
}

func (j *judgement) report(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if said := "openapi.yaml: " + err.Error(); len(j.wrong) < faultsMax && !slices.Contains(j.wrong, said) {
		j.wrong = append(j.wrong, said)
	}
}

// into adds the exchanges to a cell's result. A run without exchanges fails.
func (j *judgement) into(r *result) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r.Exchanges, r.Kinds = j.kinds.Counts()
	r.Faults = append(r.Faults, j.wrong...)
	if r.Exchanges == 0 {
		r.Faults = append(r.Faults, "no exchange was judged")
	}
}
