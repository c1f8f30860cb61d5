package stock_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestSeveralHosts: the store uses the first host that can be written to, and leaves it
// when it becomes read-only.
func TestSeveralHosts(t *testing.T) {
	t.Parallel()
	for dialect, c := range map[string]struct{ user, readOnly []string }{
		"postgres": {
			[]string{`CREATE ROLE app LOGIN SUPERUSER PASSWORD 'app-password'`},
			[]string{
				`ALTER ROLE app SET default_transaction_read_only = on`,
				// sessions that are open keep the old setting
				`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'`,
			},
		},
		"mysql": {
			[]string{`CREATE USER app IDENTIFIED BY 'app-password'`, `GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON *.* TO app`},
			[]string{`SET GLOBAL read_only = on`}, // administrators can still write
		},
	} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			down := servertest.StartProxy(t, "127.0.0.1:9")
			down.Cut()
			first := servertest.Start(t, dialect)
			second := servertest.Start(t, dialect)
			stores := map[*servertest.Server]*stock.Store{}
			for server, stocked := range map[*servertest.Server]int64{first: 10, second: 20} {
				stores[server] = stocktest.Open(t, server.URL(), stock.Options{})
				stocktest.Pool(t, stores[server], "p", stocked)
				stocktest.ExecAll(t, stores[server], c.user)
			}
			u, err := url.Parse(first.URL())
			require.NoError(t, err)
			u.User = url.UserPassword("app", "app-password")
			several := strings.Replace(u.String(), first.Addr(), down.Addr()+","+first.Addr()+","+second.Addr(), 1)

			s := stocktest.Open(t, several, stock.Options{})
			require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, stocktest.Plan("p", 2, "a", 0, "d1")))
			require.Equal(t, int64(1), stocktest.NoViolations(t, stores[first], "p").Prizes[0].Awards, "the first host that answers")
			stocktest.ExecAll(t, stores[first], c.readOnly)
			require.Eventually(t, func() bool { // even if nobody draws
				move, err := s.Stock(t.Context(), draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 1, Reason: "more"}, "test")
				return err == nil && move.Stocked == 21
			}, waitMax, tick, "operators go to the other as well")
			require.Eventually(t, func() bool {
				return stocktest.Write(t, s, stock.TxOptions{Lock: true}, stocktest.Plan("p", 3, "a", 0, "d2")) == nil
			}, waitMax, tick)
			require.Equal(t, int64(21), stocktest.NoViolations(t, s, "p").Prizes[0].Stocked, "now the other")
		})
	}
}

// hostOf returns the host and port in a database's URL.
func hostOf(t *testing.T, of string) string {
	t.Helper()
	u, err := url.Parse(of)
	require.NoError(t, err)
	return u.Host
}

// TestHangingHostCostsItsTimeOnce: a host that accepts connections but never answers
// costs its timeout once, and not for every connection. The connections of locks, whose
// requests have only a second, do not try that host again.
func TestHangingHostCostsItsTimeOnce(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := stocktest.URL(t, dialect)
			hangs := servertest.StartProxy(t, url)
			hangs.Hold()
			several := strings.Replace(url, hostOf(t, url), hangs.Addr()+","+hostOf(t, url), 1)
			s := stocktest.Open(t, several, stock.Options{})
			const want = 5 // connections in a row; on a busy machine, the host that answers may be late too, and then both are tried again
			undisturbed := 0
			require.Eventually(t, func() bool {
				before := hangs.Taken()
				conn, err := s.LockDB().Conn(t.Context())
				if err != nil || before != hangs.Taken() {
					undisturbed = 0
				} else {
					undisturbed++
				}
				if err == nil { // so that the next connection is new
					_ = conn.Raw(func(any) error { return driver.ErrBadConn })
				}
				return undisturbed == want
			}, waitMax, tick, "the one that hangs is asked for each connection")
		})
	}
}

// TestHostFallsSilent: when the current host hangs, its connections do not fail one after
// another. A cut link would be noticed; a hang is not. Found by the fault "primary hangs
// and is fenced", seed 4434875351255921.
func TestHostFallsSilent(t *testing.T) {
	t.Parallel()
	const idle, limit = 6, 4 * time.Second // one attempt takes as long as limit; six broken connections would take six times as long
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := stocktest.URL(t, dialect)
			link := servertest.StartProxy(t, url)
			several := strings.Replace(url, hostOf(t, url), link.Addr()+","+hostOf(t, url), 1)
			s := stocktest.Open(t, several, stock.Options{})
			stocktest.Pool(t, s, "p", 10)
			begin := func() (stock.Tx, error) {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				return s.Read(ctx, urn.NewUrn("p"), stock.TxOptions{})
			}
			var held []stock.Tx
			for n := range idle {
				stocktest.Pool(t, s, fmt.Sprint("p", n), 1)
				tx, err := s.Read(t.Context(), urn.NewUrn(fmt.Sprint("p", n)), stock.TxOptions{Lock: true})
				require.NoError(t, err)
				held = append(held, tx)
			}
			for _, tx := range held {
				tx.Rollback()
			}
			time.Sleep(1100 * time.Millisecond) // so that the connections are idle for longer than the pool trusts them
			link.Hold()
			defer link.Cut() // otherwise closing the connections would take long
			begun, failed := time.Now(), 0
			for {
				tx, err := begin()
				if err == nil {
					tx.Rollback()
					break
				}
				failed++
				require.Less(t, failed, 3, "%v", err)
			}
			require.Less(t, time.Since(begun), 3*limit+30*time.Second)
			t.Logf("%d tries failed, %v", failed, time.Since(begun))
		})
	}
}
