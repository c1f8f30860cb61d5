package servertest_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

func TestPostgresSmoke(t *testing.T) {
	t0 := time.Now()
	for range 5 {
		u := servertest.Postgres(t)
		t.Log(u, time.Since(t0))
		t0 = time.Now()
		c, err := pgx.Connect(context.Background(), u)
		require.NoError(t, err)
		_, err = c.Exec(context.Background(), "create table a(b int)")
		require.NoError(t, err)
	}
	t0 = time.Now()
	t.Cleanup(func() { t.Log("done", time.Since(t0)) })
}

func TestMySQLSmoke(t *testing.T) {
	t0 := time.Now()
	for range 5 {
		u := servertest.MySQL(t)
		t.Log(u, time.Since(t0))
		t0 = time.Now()
	}
	for range 5 {
		u := servertest.Redis(t)
		t.Log(u, time.Since(t0))
		t0 = time.Now()
	}
}
func TestRestart(t *testing.T) {
	for _, k := range servertest.Kinds() {
		t0 := time.Now()
		s := servertest.Start(t, k)
		t.Log(s.URL(), time.Since(t0))
		t0 = time.Now()
		s.Kill()
		t.Log("kill", time.Since(t0))
		t0 = time.Now()
		require.NoError(t, s.Start())
		t.Log("again", time.Since(t0))
		t0 = time.Now()
		s.Pause()
		s.Resume()
		t.Log("pause", time.Since(t0))
		t0 = time.Now()
		s.Stop()
		t.Log("stop", time.Since(t0))
		require.NoError(t, s.Start())
	}
}
