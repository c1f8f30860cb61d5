package servertest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// probe writes a fact to a server and reads it again, in the language of the server.
type probe struct {
	keep func(ctx context.Context, s *Server) error
	// kept returns nil if the fact is there.
	kept func(ctx context.Context, s *Server) error
}

func probes() map[string]probe {
	return map[string]probe{
		"postgres":  {keepPostgres, keptPostgres},
		"mysql":     {keepMySQL, keptMySQL},
		"redis":     {keepRedis, keptRedis},
		"zookeeper": {keepZooKeeper, keptZooKeeper},
		"etcd":      {keepEtcd, keptEtcd},
	}
}

func probeOf(t *testing.T, kind string) probe {
	t.Helper()
	require.Contains(t, probes(), kind, "a new kind of server wants a probe")
	return probes()[kind]
}

func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func keepPostgres(ctx context.Context, s *Server) error {
	return executePostgres(ctx, s.URL(), "CREATE TABLE fact AS SELECT 42 AS answer")
}

func keptPostgres(ctx context.Context, s *Server) error {
	conn, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var answer int
	return errors.Join(conn.QueryRow(ctx, "SELECT answer FROM fact").Scan(&answer), differ(answer, 42))
}

func keepMySQL(ctx context.Context, s *Server) error {
	return executeMySQL(ctx, s.URL(), "CREATE TABLE fact AS SELECT 42 AS answer")
}

func keptMySQL(ctx context.Context, s *Server) error {
	db, err := sql.Open("mysql", fmt.Sprintf("drawsvc:%s@tcp(%s)/drawsvc", s.password(), s.Addr()))
	if err != nil {
		return err
	}
	defer db.Close()
	var answer int
	return errors.Join(db.QueryRowContext(ctx, "SELECT answer FROM fact").Scan(&answer), differ(answer, 42))
}

func keepRedis(ctx context.Context, s *Server) error {
	return ask(ctx, s.Addr(), "SET fact 42\r\nQUIT\r\n", "+OK\r\n+OK")
}

func keptRedis(ctx context.Context, s *Server) error {
	return ask(ctx, s.Addr(), "GET fact\r\nQUIT\r\n", "\r\n42\r\n")
}

func keepZooKeeper(_ context.Context, s *Server) error {
	conn, err := connectZooKeeper(s)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Create("/fact", []byte("42"), 0, zk.WorldACL(zk.PermAll))
	return err
}

func keptZooKeeper(_ context.Context, s *Server) error {
	conn, err := connectZooKeeper(s)
	if err != nil {
		return err
	}
	defer conn.Close()
	answer, _, err := conn.Get("/fact")
	return errors.Join(err, differ(string(answer), "42"))
}

func connectZooKeeper(s *Server) (*zk.Conn, error) {
	conn, _, err := zk.Connect([]string{s.Addr()}, 30*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
	return conn, err
}

func keepEtcd(ctx context.Context, s *Server) error {
	_, err := askEtcd(ctx, s, "put", map[string]string{"key": encoded("fact"), "value": encoded("42")})
	return err
}

func keptEtcd(ctx context.Context, s *Server) error {
	answer, err := askEtcd(ctx, s, "range", map[string]string{"key": encoded("fact")})
	if err == nil && !bytes.Contains(answer, []byte(encoded("42"))) {
		err = fmt.Errorf("no fact in %s", answer)
	}
	return err
}

func askEtcd(ctx context.Context, s *Server, call string, body map[string]string) ([]byte, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://"+s.Addr()+"/v3/kv/"+call, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func differ[T comparable](got, want T) error {
	if got != want {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}
