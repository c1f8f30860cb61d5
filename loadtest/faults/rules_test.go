package main

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	etcd "go.etcd.io/etcd/client/v3"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/harness"
)

// trialOn is a trial whose one instance is a handler.
func trialOn(t *testing.T, handler http.HandlerFunc) *Trial {
	t.Helper()
	service := httptest.NewServer(handler)
	t.Cleanup(service.Close)
	client := newClient()
	t.Cleanup(client.CloseIdleConnections)
	return &Trial{
		world: &world{
			ctx: t.Context(), client: client, calm: []float64{20},
			instances: []*instance{{address: strings.TrimPrefix(service.URL, "http://")}},
		},
		history: history.New(),
	}
}

// TestAnInstanceThatDoesNotComeBackIsTold: it refuses for ever.
func TestAnInstanceThatDoesNotComeBackIsTold(t *testing.T) {
	t.Parallel()
	tr := trialOn(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"code":"store-unavailable"}`))
	})
	tr.recover(time.Now())
	require.Equal(t, 1, tr.verdict.Count(history.NotRecovered))
	require.Equal(t, recoverMax, tr.recoveries[0])
}

func TestWhatAnInstanceKeepsIsTold(t *testing.T) {
	t.Parallel()
	for metrics, kept := range map[string]string{
		"go_goroutines 25\ndrawsvc_database_connections_in_use 0\n":   "",
		"go_goroutines 2000\ndrawsvc_database_connections_in_use 0\n": "goroutines",
		"go_goroutines 25\ndrawsvc_database_connections_in_use 1\n":   "connections in use",
		"": "no metrics",
	} {
		tr := trialOn(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(metrics)) })
		said := tr.leftInInstances()
		require.Contains(t, said, kept)
		require.Equal(t, kept == "", said == "", said)
	}
}

// TestATransactionThatIsLeftIsTold: one that somebody began and forgot.
func TestATransactionThatIsLeftIsTold(t *testing.T) {
	t.Parallel()
	for kind, open := range map[string]func(url string) (*sql.DB, error){
		"postgres": func(url string) (*sql.DB, error) { return sql.Open("pgx", url) },
		"mysql": func(url string) (*sql.DB, error) {
			return openMySQL(url, "information_schema")
		},
	} {
		db, err := open(servertest.Start(t, kind).URL())
		require.NoError(t, err)
		t.Cleanup(func() { _ = db.Close() })
		tr := &Trial{world: &world{ctx: t.Context(), base: &base{kind: kind, admin: db}}}
		require.Empty(t, within(t.Context(), 5*time.Second, tr.leftInDatabase), kind)
		if kind == "mysql" {
			require.NoError(t, execAll(db, `CREATE DATABASE left_over`, `CREATE TABLE left_over.units (id int)`))
		}
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		if kind == "mysql" {
			_, err = tx.Exec(`INSERT INTO left_over.units VALUES (1)`)
		} else {
			_, err = tx.Exec(`SELECT 1`)
		}
		require.NoError(t, err)
		// MariaDB shows transactions as they were when it was last asked, where that is less than 100 ms ago.
		require.Eventually(t, func() bool { return strings.Contains(tr.leftInDatabase(), "left in the database") }, 5*time.Second, 200*time.Millisecond, kind)
		require.NoError(t, tx.Rollback())
	}
}

// TestALockThatIsLeftIsTold: a key, a place in a queue, a node.
func TestALockThatIsLeftIsTold(t *testing.T) {
	t.Parallel()
	for lock, leave := range map[string]func(tr *Trial, addr string) error{
		"redis": func(tr *Trial, addr string) error {
			_, err := redisDo(tr.ctx, addr, "SET", "drawsvc:lock:{main}", "nobody")
			return err
		},
		"etcd": func(tr *Trial, addr string) error {
			client, err := etcd.New(etcd.Config{Endpoints: []string{addr}, DialTimeout: 5 * time.Second})
			if err != nil {
				return err
			}
			defer func() { _ = client.Close() }()
			_, err = client.Put(tr.ctx, "drawsvc/lock/main/1", "")
			return err
		},
		"zookeeper": func(_ *Trial, addr string) error {
			conn, _, err := zk.Connect([]string{addr}, 10*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false))
			if err != nil {
				return err
			}
			t.Cleanup(conn.Close)
			if _, err := conn.Create("/faults/main", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
				return err
			}
			_, err = conn.Create("/faults/main/place", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			return err
		},
	} {
		server := servertest.Start(t, lock)
		tr := &Trial{world: &world{
			ctx: t.Context(), scene: scene{place: place{lock: lock}}, lockServers: []*servertest.Server{server},
			lockURL: fmt.Sprintf("%s://%s/faults", lock, server.Addr()),
		}}
		if lock == "zookeeper" {
			conn, _, err := zk.Connect([]string{server.Addr()}, 10*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false))
			require.NoError(t, err)
			t.Cleanup(conn.Close)
			_, err = conn.Create("/faults", nil, 0, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
		}
		require.Empty(t, tr.leftInLockService(), lock)
		require.NoError(t, leave(tr, server.Addr()), lock)
		require.Contains(t, tr.leftInLockService(), "are left in", lock)
	}
}

// TestADoubtThatStaysIsTold: a key that gets no clear answer, however often it
// is asked for; and one that gets one at last.
func TestADoubtThatStaysIsTold(t *testing.T) {
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
		tr.condemned = true // its time is short
		tr.send(t.Context(), history.Op{Kind: history.Draw, Pool: "p", Key: "k", User: "u", Count: 1})
		tr.settle()
		require.Equal(t, 1, tr.unknown, name)
		require.Equal(t, settles, tr.verdict.Count(history.Unsettled) == 0, name)
	}
}

// TestAnAuditThatDiffersIsTold: what the service says of a pool is held
// against its rows.
func TestAnAuditThatDiffersIsTold(t *testing.T) {
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
		tr.checkAudit(rows)
		require.Equal(t, differs, tr.verdict.Count(history.AuditDiffers) > 0, said)
	}
}

// TestABadEndIsTold: a program that ends by itself, and one that SIGTERM ends
// otherwise than well.
func TestABadEndIsTold(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	require.NoError(t, err)
	folder, err := filepath.Abs(bin)
	require.NoError(t, err)
	program, err := filepath.Rel(folder, shell)
	require.NoError(t, err)
	for script, bad := range map[string]bool{
		`trap "exit 0" TERM; touch "$1"; while :; do sleep 0.01; done`: false,
		`trap "exit 3" TERM; touch "$1"; while :; do sleep 0.01; done`: true,
		`touch "$1"; exit 0`: true,
		`touch "$1"; exit 4`: true,
	} {
		up := filepath.Join(t.TempDir(), "up")
		i := &instance{program: program, args: []string{"-c", script, "sh", up}, output: harness.NewTail(1000)}
		require.NoError(t, i.start())
		require.Eventually(t, func() bool {
			_, err := os.Stat(up)
			return err == nil
		}, 10*time.Second, 10*time.Millisecond)
		if !strings.Contains(script, "trap") {
			require.Eventually(t, func() bool { died, _ := i.died(); return died }, 10*time.Second, 10*time.Millisecond)
		}
		w := &world{ctx: t.Context(), instances: []*instance{i}}
		require.Equal(t, bad, w.end() != nil, script)
	}
}
