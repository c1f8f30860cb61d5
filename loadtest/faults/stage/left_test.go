package stage

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	etcd "go.etcd.io/etcd/client/v3"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
)

// worldOn returns a world whose one instance is a handler.
func worldOn(t *testing.T, handler http.HandlerFunc) *World {
	t.Helper()
	service := httptest.NewServer(handler)
	t.Cleanup(service.Close)
	return &World{Ctx: t.Context(), calm: []float64{20}, Instances: []*Instance{{Address: strings.TrimPrefix(service.URL, "http://")}}}
}

func TestLeftResourcesOfAnInstanceAreFound(t *testing.T) {
	t.Parallel()
	for metrics, kept := range map[string]string{
		"go_goroutines 25\ndrawsvc_database_connections_in_use 0\n":   "",
		"go_goroutines 2000\ndrawsvc_database_connections_in_use 0\n": "goroutines",
		"go_goroutines 25\ndrawsvc_database_connections_in_use 1\n":   "connections in use",
		"": "no metrics",
	} {
		w := worldOn(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(metrics)) })
		err := w.leftInInstances()
		require.Equal(t, kept == "", err == nil, err)
		require.Contains(t, fmt.Sprint(err), kept)
	}
}

// TestLeftTransactionIsFound: a transaction that was begun and never ended is
// found.
func TestLeftTransactionIsFound(t *testing.T) {
	t.Parallel()
	for kind, open := range map[string]func(url string) (*sql.DB, error){
		"postgres": func(url string) (*sql.DB, error) { return sql.Open("pgx", url) },
		"mysql": func(url string) (*sql.DB, error) {
			return place.OpenMySQL(url, "information_schema")
		},
	} {
		db, err := open(servertest.Start(t, kind).URL())
		require.NoError(t, err)
		t.Cleanup(func() { _ = db.Close() })
		w := &World{Ctx: t.Context(), Base: &Base{Kind: kind, Admin: db}}
		require.NoError(t, Within(t.Context(), 30*time.Second, w.leftInDatabase), kind)
		if kind == "mysql" {
			require.NoError(t, ExecAll(db, `CREATE DATABASE left_over`, `CREATE TABLE left_over.units (id int)`))
		}
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		if kind == "mysql" {
			_, err = tx.Exec(`INSERT INTO left_over.units VALUES (1)`)
		} else {
			_, err = tx.Exec(`SELECT 1`)
		}
		require.NoError(t, err)
		// MariaDB shows the transactions of the previous query if that was less than
		// 100 ms ago.
		require.Eventually(t, func() bool { return strings.Contains(fmt.Sprint(w.leftInDatabase()), "left in the database") }, 30*time.Second, 200*time.Millisecond, kind)
		require.NoError(t, tx.Rollback())
	}
}

// TestLeftLockIsFound: a key, a place in a queue and a node that were left behind are
// found.
func TestLeftLockIsFound(t *testing.T) {
	t.Parallel()
	for lock, leave := range map[string]func(w *World, addr string) error{
		"redis": func(w *World, addr string) error {
			_, err := RedisDo(w.Ctx, addr, "SET", "drawsvc:lock:{main}", "nobody")
			return err
		},
		"etcd": func(w *World, addr string) error {
			client, err := etcd.New(etcd.Config{Endpoints: []string{addr}, DialTimeout: 5 * time.Second})
			if err != nil {
				return err
			}
			defer func() { _ = client.Close() }()
			_, err = client.Put(w.Ctx, "drawsvc/lock/main/1", "")
			return err
		},
		"zookeeper": func(_ *World, addr string) error {
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
		w := &World{
			Ctx: t.Context(), Scene: Scene{Place: place.Place{Lock: lock}}, LockServers: []*servertest.Server{server},
			lockURL: fmt.Sprintf("%s://%s/faults", lock, server.Addr()),
		}
		if lock == "zookeeper" {
			conn, _, err := zk.Connect([]string{server.Addr()}, 10*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false))
			require.NoError(t, err)
			t.Cleanup(conn.Close)
			_, err = conn.Create("/faults", nil, 0, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
		}
		require.NoError(t, w.leftInLockService(), lock)
		require.NoError(t, leave(w, server.Addr()), lock)
		require.ErrorContains(t, w.leftInLockService(), "are left in", lock)
	}
}

// TestBadEndOfAProgramIsFound: a program that exits by itself is found, and so is a
// program that does not exit cleanly on SIGTERM.
func TestBadEndOfAProgramIsFound(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	require.NoError(t, err)
	folder, err := filepath.Abs(Bin)
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
		i := &Instance{Program: program, Args: []string{"-c", script, "sh", up}, output: harness.NewTail(1000)}
		require.NoError(t, i.start())
		require.Eventually(t, func() bool {
			_, err := os.Stat(up)
			return err == nil
		}, 30*time.Second, 10*time.Millisecond)
		if !strings.Contains(script, "trap") {
			require.Eventually(t, func() bool { died, _ := i.died(); return died }, 30*time.Second, 10*time.Millisecond)
		}
		w := &World{Ctx: t.Context(), Instances: []*Instance{i}}
		require.Equal(t, bad, w.End() != nil, script)
	}
}
