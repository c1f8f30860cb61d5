package client

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
)

// trialOn returns a trial whose one instance is a handler.
func trialOn(t *testing.T, handler http.HandlerFunc) *Trial {
	t.Helper()
	service := httptest.NewServer(handler)
	t.Cleanup(service.Close)
	tr := &Trial{
		World: &stage.World{
			Ctx:       t.Context(),
			Instances: []*stage.Instance{{Address: strings.TrimPrefix(service.URL, "http://")}},
		},
		History: history.New(),
	}
	tr.Client = tr.Through(&net.Dialer{})
	t.Cleanup(tr.Client.CloseIdleConnections)
	return tr
}

// TestUnrecoveredInstanceIsFound: an instance that refuses everything is reported as not
// recovered.
func TestUnrecoveredInstanceIsFound(t *testing.T) {
	t.Parallel()
	tr := trialOn(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"code":"store-unavailable"}`))
	})
	tr.Recover(time.Now())
	require.Equal(t, 1, tr.Verdict.Count(history.NotRecovered))
	require.Equal(t, RecoverMax, tr.Recoveries[0])
}

// TestUnsettledDoubtIsFound: a key that never gets a clear answer is reported, and one
// that gets it in the end is not.
func TestUnsettledDoubtIsFound(t *testing.T) {
	t.Parallel()
	for name, settles := range map[string]bool{"never": false, "at the third time": true} {
		var asked atomic.Int64
		tr := trialOn(t, func(w http.ResponseWriter, _ *http.Request) {
			if asked.Add(1) > 2 && settles {
				w.WriteHeader(http.StatusConflict)
				_, _ = w.Write([]byte(`{"code":"sold-out","outcome":"none"}`))
				return
			}
			w.WriteHeader(http.StatusGatewayTimeout)
			_, _ = w.Write([]byte(`{"code":"outcome-unknown","outcome":"unknown"}`))
		})
		tr.Condemned = !settles // keeps the test short
		tr.Send(t.Context(), history.Op{Kind: history.Draw, Pool: "p", Key: "k", User: "u", Count: 1})
		tr.settle()
		require.Equal(t, 1, tr.Unknown, name)
		require.Equal(t, settles, tr.Verdict.Count(history.Unsettled) == 0, name)
	}
}

// TestDifferingAuditIsFound: the service's audit of a pool is compared with the
// pool's rows.
func TestDifferingAuditIsFound(t *testing.T) {
	t.Parallel()
	rows := history.Rows{Pool: "p", Version: 3, Prizes: []history.PrizeRow{{ID: "tin", Stocked: 5, Issued: 2}}}
	const right = `{"ok":true,"version":3,"prizes":[{"prize":"tin","stocked":5,"issued":2,"remaining":3}],"violations":[]}`
	for said, differs := range map[string]bool{
		right: false,
		strings.Replace(right, "true", "false", 1):                                            true,
		strings.Replace(right, `"version":3`, `"version":4`, 1):                               true,
		strings.Replace(right, `"stocked":5`, `"stocked":6`, 1):                               true,
		strings.Replace(right, `"issued":2`, `"issued":1`, 1):                                 true,
		strings.Replace(right, `"remaining":3`, `"remaining":2`, 1):                           true,
		strings.Replace(right, `{"prize":"tin","stocked":5,"issued":2,"remaining":3}`, "", 1): true,
		"": true,
	} {
		tr := trialOn(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(said)) })
		tr.Condemned = said == "" // keeps the test short
		tr.checkAudit(rows)
		require.Equal(t, differs, tr.Verdict.Count(history.AuditDiffers) > 0, said)
	}
}
