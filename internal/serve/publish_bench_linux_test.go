package serve

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/publish"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// BenchmarkPublish publishes the log of a pool that has got 10,000 awards since the
// previous pass. Its figures are processor times per entry: ns-self is that of this
// process, and ns-kernel that of the kernel's work on its files. On PostgreSQL, ns-server
// is that of the session that reads the rows. Unlike elapsed times, they are meaningful
// on a busy machine too.
//
//	go test -run '^$' -bench Publish -benchtime 20x -count 6 ./internal/serve | tee new.txt
//	benchstat old.txt new.txt
func BenchmarkPublish(b *testing.B) {
	for _, dialect := range stock.Dialects() {
		b.Run("dialect="+dialect, func(b *testing.B) {
			store := stocktest.Open(b, stocktest.Migrated(b, dialect), stock.Options{Identities: stocktest.Identities(b)})
			benchmarkPublish(b, store)
		})
	}
}

func benchmarkPublish(b *testing.B, store *stock.Store) {
	set := func(state draw.State) {
		_, err := store.ChangePool(b.Context(), "spring", draw.PoolChange{State: &state}, "test")
		require.NoError(b, err)
	}
	stocktest.Pool(b, store, "spring", 1e9)
	set(draw.StatePaused)
	require.NoError(b, stocktest.Commit(b, store, "spring", 256, 1<<20))
	set(draw.StateOpen)
	publisher, err := publish.New(publish.Options{Dir: filepath.Join(b.TempDir(), "public"), Every: 1, Live: true, Log: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	defer publisher.Close()
	pools := &PublicPools{Store: store, Known: map[string]*stock.Publishing{}}
	require.NoError(b, publisher.Pass(b.Context(), pools, false))

	const entries = 10_000
	var self, kernel, server time.Duration
	var issued int64
	for b.Loop() {
		b.StopTimer()
		drawn(b, store, issued, entries)
		issued += entries
		before, serverBefore := processor(b), session(b, store)
		b.StartTimer()
		require.NoError(b, publisher.Pass(b.Context(), pools, false))
		after := processor(b)
		self += time.Duration(after.Utime.Nano() - before.Utime.Nano())
		kernel += time.Duration(after.Stime.Nano() - before.Stime.Nano())
		server += session(b, store) - serverBefore
	}
	of := float64(b.N) * entries
	require.Equal(b, int64(of)+5, publisher.Published()[0].Entries)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(self)/of, "ns-self/entry")
	b.ReportMetric(float64(kernel)/of, "ns-kernel/entry")
	if server > 0 {
		b.ReportMetric(float64(server)/of, "ns-server/entry")
	}
}

// drawn draws units of the pool's prize, each with a name as long as those of the
// service.
func drawn(b *testing.B, store *stock.Store, issued, n int64) {
	b.Helper()
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("01936c5e-0000-7000-8000-%012d", issued+int64(i))
	}
	pool, err := store.Pool(b.Context(), "spring")
	require.NoError(b, err)
	plan := stocktest.Plan("spring", pool.Version, "a", issued, names...)
	for i := range plan.Awards {
		plan.Awards[i].UserID = fmt.Sprint("user-", i%1000)
	}
	require.NoError(b, stocktest.Write(b, store, stock.TxOptions{Lock: true}, plan))
}

// processor returns the processor time of this process.
func processor(b *testing.B) (u syscall.Rusage) {
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u
}

// session returns the processor time of the PostgreSQL session that reads, 0 on other
// databases.
func session(b *testing.B, store *stock.Store) time.Duration {
	if store.Dialect() != "postgres" {
		return 0
	}
	var pid, ran int64
	require.NoError(b, store.Engine().Read.QueryRowContext(context.Background(), "SELECT pg_backend_pid()").Scan(&pid))
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	require.NoError(b, err)
	_, err = fmt.Sscan(string(text), &ran)
	require.NoError(b, err)
	return time.Duration(ran)
}
