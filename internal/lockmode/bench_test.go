package lockmode_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/group"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// BenchmarkEngine measures the service without HTTP. Each of a number of callers draws
// from one pool of ten prizes, and repeats as soon as it has its answer. The database
// writes through to the disk. Its figure is draws/s.
//
//	go test -run '^$' -bench Engine -benchtime 5s -count 6 ./internal/lockmode | tee new.txt
//	benchstat old.txt new.txt
func BenchmarkEngine(b *testing.B) { benchmarkEngines(b, false) }

// BenchmarkEngineCommitted is BenchmarkEngine with committed pools.
func BenchmarkEngineCommitted(b *testing.B) { benchmarkEngines(b, true) }

func benchmarkEngines(b *testing.B, committed bool) {
	for _, dialect := range stock.Dialects() {
		b.Run("dialect="+dialect, func(b *testing.B) {
			store := stocktest.Open(b, engineURL(b, dialect), stock.Options{Identities: stocktest.Identities(b)})
			for _, callers := range []int{1, 64, 2048} {
				b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) { benchmarkEngine(b, store, callers, committed) })
			}
		})
	}
}

// engineURL returns the URL of an empty database that is durable, and has as much
// memory as on a dedicated machine.
func engineURL(b *testing.B, dialect string) string {
	switch dialect {
	case "postgres":
		return servertest.Start(b, "postgres", servertest.Durable(),
			servertest.Args("-c", "shared_buffers=512MB", "-c", "max_wal_size=4GB")).URL()
	case "mysql":
		return servertest.Start(b, "mysql", servertest.Durable(),
			servertest.Args("--innodb-buffer-pool-size=512M", "--innodb-log-file-size=512M")).URL()
	}
	folder, err := os.MkdirTemp("", "drawsvc-engine-")
	require.NoError(b, err)
	b.Cleanup(func() { _ = os.RemoveAll(folder) })
	return "sqlite:" + filepath.Join(folder, "draws.db")
}

func benchmarkEngine(b *testing.B, store *stock.Store, callers int, committed bool) {
	poolID := "pool-" + uuid.NewString()
	stocktest.Pool(b, store, poolID, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9)
	if committed {
		set := func(state draw.State) {
			_, err := store.ChangePool(b.Context(), poolID, draw.PoolChange{State: &state}, "test")
			require.NoError(b, err)
		}
		set(draw.StatePaused)
		require.NoError(b, stocktest.Commit(b, store, poolID, 256, 1<<20))
		set(draw.StateOpen)
	}
	issuer, err := lockmode.New(lockmode.Options{
		Store: store, Agendas: store, Sharer: store, Observer: blind{}, Log: slog.New(slog.DiscardHandler), Mode: lockmode.ForUpdate,
		Budget: 3 * time.Second, Settle: 4500 * time.Millisecond,
	})
	require.NoError(b, err)
	// The limits are the service's defaults.
	batcher := group.NewBatcher(issuer, blind{}, group.Limits{BatchMax: 512, QueueMax: 4096, Timeout: 5 * time.Second})
	defer func() { require.NoError(b, batcher.Drain(context.Background())) }()

	b.ReportAllocs()
	if callers == 1 {
		for b.Loop() {
			drawOnce(b, batcher, poolID)
		}
	} else {
		b.SetParallelism(max(callers/runtime.GOMAXPROCS(0), 1))
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				drawOnce(b, batcher, poolID)
			}
		})
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "draws/s")
}

func drawOnce(b *testing.B, batcher *group.Batcher, poolID string) {
	id, err := uuid.NewV7()
	if err == nil {
		_, err = batcher.Draw(context.Background(), draw.Request{PoolID: poolID, UserID: "user-12345", DrawID: id.String(), Count: 1})
	}
	if err != nil {
		b.Error(err)
	}
}

// blind observes nothing: metrics belong to the service.
type blind struct{}

func (blind) Gathered(int, int, time.Duration)        {}
func (blind) Answered(string, string, int)            {}
func (blind) DoubtSettled(int)                        {}
func (blind) Attempted(string, string, time.Duration) {}
func (blind) DatabaseFailed(string)                   {}
func (blind) StaleToken()                             {}
