package servertest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestServerKeepsItsDataThroughKillAndStop(t *testing.T) {
	for _, kind := range Kinds() {
		for name, opts := range map[string][]Option{"fast": nil, "durable": {Durable()}} {
			if kind == "redis" && name == "fast" {
				continue // it keeps no data: see Durable
			}
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				probe := probeOf(t, kind)
				s := Start(t, kind, opts...)
				url := s.URL()
				require.NoError(t, probe.keep(within(t, readyMax), s))

				s.Kill()
				require.Error(t, probe.kept(within(t, time.Second), s))
				_, err := net.Dial("tcp", s.Addr())
				require.Error(t, err, "nothing listens after Kill")
				require.NoError(t, s.Start())
				require.NoError(t, probe.kept(within(t, readyMax), s))

				s.Stop()
				_, err = net.Dial("tcp", s.Addr())
				require.Error(t, err, "nothing listens after Stop")
				require.NoError(t, s.Start())
				require.NoError(t, probe.kept(within(t, readyMax), s))
				require.Equal(t, url, s.URL())
				require.Error(t, s.Start(), "it runs already")
			})
		}
	}
}

func TestServerPausesAndResumes(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			probe := probeOf(t, kind)
			s := Start(t, kind)
			require.NoError(t, probe.keep(within(t, readyMax), s))

			s.Pause()
			conn, err := net.Dial("tcp", s.Addr())
			require.NoError(t, err, "the kernel takes connections")
			require.NoError(t, conn.Close())
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			require.Error(t, s.kind.ready(ctx, s), "but nobody answers")

			s.Resume()
			require.NoError(t, probe.kept(within(t, readyMax), s))
		})
	}
}

func TestServerPausedCanBeKilledAndStopped(t *testing.T) {
	t.Parallel()
	s := Start(t, "postgres")
	require.NoError(t, keepPostgres(t.Context(), s))
	s.Pause()
	s.Kill()
	require.NoError(t, s.Start())
	s.Pause()
	s.Stop()
	require.NoError(t, s.Start())
	require.NoError(t, keptPostgres(t.Context(), s))
}

func TestServerLeavesNothingAfterItsTest(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		var dir, addr string
		t.Run(kind, func(t *testing.T) {
			s := Start(t, kind)
			dir, addr = s.Dir(), s.Addr()
			require.DirExists(t, dir)
		})
		require.NoDirExists(t, dir)
		_, err := net.Dial("tcp", addr)
		require.Error(t, err)
	}
}

func TestServerTakesFurtherArguments(t *testing.T) {
	t.Parallel()
	s := Start(t, "mysql", Args("--max-connections=17"))
	db := openMySQL(t, s.URL())
	var most int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT @@max_connections").Scan(&most))
	require.Equal(t, 17, most)
}

func TestServerThatDoesNotStartShowsItsLog(t *testing.T) {
	sh := sharedOf(t)
	_, err := sh.launch("postgres", options{args: []string{"-c", "no_such_setting=1"}})
	require.ErrorContains(t, err, "unrecognized configuration parameter")
	require.ErrorContains(t, err, "ended at once", "nobody waits for it")
	left, err := filepath.Glob(filepath.Join(sh.memory, "postgres-*"))
	require.NoError(t, err)
	for _, dir := range left {
		_, err := os.Stat(filepath.Join(dir, "data/postmaster.pid"))
		require.NoError(t, err, "only folders of running servers are left")
	}
	_, err = sh.launch("oracle", options{})
	require.ErrorContains(t, err, "etcd, mysql, postgres, redis, zookeeper")
}
