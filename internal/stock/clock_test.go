package stock_test

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestDatabaseClock: entries get the database's time, even if this machine's clock
// differs from it. Here the two clocks are an hour apart.
func TestDatabaseClock(t *testing.T) {
	for dialect, clock := range map[string]string{
		"postgres": "clock_timestamp() + interval '1 hour'", "mysql": "UTC_TIMESTAMP(6) + INTERVAL 1 HOUR",
	} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := stocktest.URL(t, dialect)
			d := *stock.DialectOf(dialect)
			d.Clock = clock
			s, err := stock.OpenDialect(t.Context(), &d, url, stock.Options{})
			require.NoError(t, err)
			defer s.Close()
			require.NoError(t, s.Migrate(t.Context()))
			stocktest.Pool(t, s, "p", 5)
			move, err := s.Stock(t.Context(), draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 1, Reason: "x"}, "test")
			require.NoError(t, err)
			changes, err := s.Changes(t.Context(), "p", 0, 1)
			require.NoError(t, err)
			for _, at := range []time.Time{s.Now(), move.At, changes[0].At} {
				require.WithinDuration(t, time.Now().Add(time.Hour), at, time.Minute)
			}
			stocktest.NoViolations(t, s, "p")
		})
	}
	s := stocktest.New(t, "sqlite")
	require.WithinDuration(t, time.Now(), s.Now(), time.Minute, "a file has this machine's clock")
}

// movedClock is a database whose clock the test can set.
type movedClock struct {
	store *stock.Store
	move  func(by time.Duration)
}

// newMovedClock opens a database of a dialect. A server reads its clock from a table;
// SQLite uses the machine's clock.
func newMovedClock(t *testing.T, dialect string) movedClock {
	url := stocktest.Migrated(t, dialect)
	o := stock.Options{ClockLeap: time.Minute, Log: slog.New(slog.DiscardHandler)}
	if dialect == "sqlite" {
		var off atomic.Int64
		o.Machine = func() time.Time { return time.Now().Add(time.Duration(off.Load())) }
		return movedClock{stocktest.Open(t, url, o), func(by time.Duration) { off.Store(int64(by)) }}
	}
	plain := stocktest.Open(t, url, stock.Options{})
	stocktest.ExecAll(t, plain, []string{`CREATE TABLE moved (seconds BIGINT NOT NULL)`, `INSERT INTO moved VALUES (0)`})
	d := *stock.DialectOf(dialect)
	d.Clock = map[string]string{
		"postgres": `(clock_timestamp() + (SELECT seconds FROM moved) * interval '1 second')`,
		"mysql":    `(UTC_TIMESTAMP(6) + INTERVAL (SELECT seconds FROM moved) SECOND)`,
	}[dialect]
	s, err := stock.OpenDialect(t.Context(), &d, url, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return movedClock{s, func(by time.Duration) {
		stocktest.ExecAll(t, plain, []string{fmt.Sprintf(`UPDATE moved SET seconds = %d`, int64(by.Seconds()))})
	}}
}

// TestClockThatLeaps: a clock is forty days ahead for some seconds. Meanwhile no entry
// gets such a time, and no item of an agenda is carried out. The leap ends when the clock
// is right again. If the leap is accepted, the clock is followed.
func TestClockThatLeaps(t *testing.T) {
	const days = 40 * 24 * time.Hour
	for _, dialect := range []string{"sqlite", "postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			ctx, m := t.Context(), newMovedClock(t, dialect)
			s := m.store
			stocktest.Pool(t, s, "p", 5)
			stocktest.PlanAll(t, s, "p", stocktest.StockAt(s.Now().Add(time.Hour), "a", 1))
			rename := func(name string) time.Time {
				_, err := s.ChangePool(ctx, "p", draw.PoolChange{Name: &name}, "cleo")
				require.NoError(t, err)
				p, err := s.Pool(ctx, "p")
				require.NoError(t, err)
				changes, err := s.Changes(ctx, "p", p.Version-1, 1)
				require.NoError(t, err)
				return changes[0].At
			}
			require.NoError(t, s.ClockLeapt())

			m.move(days)
			require.WithinDuration(t, time.Now(), rename("while it leaps"), time.Minute)
			require.Equal(t, draw.CodeClockLeapt, draw.CodeOf(s.ClockLeapt()))
			require.InDelta(t, days.Seconds(), s.ClockLeap().Seconds(), 60)
			require.Equal(t, draw.CodeClockLeapt, draw.CodeOf(s.RunDue(ctx, "p")), "nothing of the agenda is done")
			require.WithinDuration(t, time.Now(), s.Now(), time.Minute)

			s.WatchSchema()
			m.move(0)
			require.Eventually(t, func() bool { _ = s.Now(); return s.ClockLeapt() == nil }, time.Minute, 20*time.Millisecond)
			require.NoError(t, s.RunDue(ctx, "p"))
			items, err := s.Agenda(ctx, "p", 0, 10, true)
			require.NoError(t, err)
			require.Len(t, items, 1)
			ahead, err := s.PoolsAhead(ctx, time.Minute)
			require.NoError(t, err)
			require.Empty(t, ahead)

			m.move(days)
			require.WithinDuration(t, time.Now(), rename("again"), time.Minute)
			by, err := s.AcceptClock(ctx)
			require.NoError(t, err)
			require.InDelta(t, days.Seconds(), by.Seconds(), 60)
			require.NoError(t, s.ClockLeapt())
			require.WithinDuration(t, time.Now().Add(days), s.Now(), time.Minute)
			require.NoError(t, s.RunDue(ctx, "p"))
			require.WithinDuration(t, time.Now().Add(days), rename("accepted"), time.Minute)

			m.move(0)
			_, err = s.AcceptClock(ctx)
			require.NoError(t, err)
			ahead, err = s.PoolsAhead(ctx, time.Minute)
			require.NoError(t, err)
			require.Equal(t, []string{"p"}, ahead)
			require.WithinDuration(t, time.Now().Add(days), rename("times never fall"), time.Minute)
			stocktest.NoViolations(t, s, "p")
		})
	}
}
