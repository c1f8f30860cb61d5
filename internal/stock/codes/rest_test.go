package codes_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/codes"
	"drawsvc/internal/stock/stocktest"
)

func lines(prefix string, n int) *strings.Reader {
	return strings.NewReader(strings.Join(stocktest.CodeLines(prefix, n), "\n") + "\n")
}

// TestImportsRestBesideDraws: while a pool is drawn from, an import rests after each of
// its parts, for longer than the part took. While nobody draws, it does not rest.
func TestImportsRestBesideDraws(t *testing.T) {
	t.Parallel()
	s := stocktest.Open(t, "sqlite:"+filepath.Join(t.TempDir(), "draws.db"), stock.Options{})
	stocktest.UseSealKeys(t, s, "k1")
	stocktest.CodedPool(t, s, "p")
	stocktest.Pool(t, s, "drawn", 100)
	drawn, pauses, working := 0, []time.Duration{}, time.Now()
	s.PauseBy(func(_ context.Context, d time.Duration) {
		pauses = append(pauses, d)
		require.LessOrEqual(t, d, 3*time.Since(working), "no longer than three times the part")
		working = time.Now()
	})
	draws := func() {
		version := int64(2 + drawn)
		require.NoError(t, stocktest.Write(t, s, stock.TxOptions{}, stocktest.Plan("drawn", version, "a", int64(drawn), fmt.Sprint("d", drawn))))
		drawn++
	}
	wanted := draw.CodeImport{PoolID: "p", PrizeID: "card", Actor: "test"}
	imported := func(prefix string, progress func(done, total int)) {
		pauses, working = nil, time.Now()
		_, err := s.ImportCodes(t.Context(), wanted, lines(prefix, 3*codes.PartMax-1), progress)
		require.NoError(t, err)
	}
	imported("A", nil)
	require.Empty(t, pauses, "nobody draws")
	imported("B", func(int, int) { draws() })
	require.Len(t, pauses, 2, "after each written part but the last")
	require.Positive(t, min(pauses[0], pauses[1]))
	require.Equal(t, 3*time.Millisecond, codes.RestAfter(t.Context(), time.Millisecond, time.Second, 1))
	require.Equal(t, 5*time.Second, codes.RestAfter(t.Context(), time.Minute, time.Minute, 1), "no longer than that")
}

// TestRestsLeaveTimeForTheWork: an import whose work fits into the time until its deadline
// ends in time, even if it uses nearly all of it. It rests as long as that permits.
func TestRestsLeaveTimeForTheWork(t *testing.T) {
	t.Parallel()
	const parts, deadline = 20, 100 * time.Second
	for percent, want := range map[time.Duration]time.Duration{20: 20 * time.Second, 50: 8 * time.Second, 80: 0, 95: 0, 99: 0} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			rested, most := time.Duration(0), deadline*percent/100/parts
			for left := parts - 1; left >= 0; left-- {
				took := most * time.Duration(left%2+1) / 2 // every second part takes half as long
				if left == parts-1 {
					took = most
				}
				time.Sleep(took)
				if left > 0 {
					rest := codes.RestAfter(ctx, took, most, left*codes.PartMax)
					require.LessOrEqual(t, rest, 3*took)
					time.Sleep(rest)
					rested += rest
				}
			}
			require.NoError(t, ctx.Err(), percent)
			require.GreaterOrEqual(t, rested, want, percent)
		})
	}
}

// TestImportsOutliveTheReadOfVersions: if an import cannot read whether pools are drawn
// from, it continues without rests.
func TestImportsOutliveTheReadOfVersions(t *testing.T) {
	t.Parallel()
	s := stocktest.Open(t, "sqlite:"+filepath.Join(t.TempDir(), "draws.db"), stock.Options{})
	stocktest.UseSealKeys(t, s, "k1")
	stocktest.CodedPool(t, s, "p")
	stocktest.Pool(t, s, "drawn", 100)
	stocktest.Pool(t, s, "other", 100)
	pauses := 0
	s.PauseBy(func(context.Context, time.Duration) { pauses++ })
	setVersion := func(version int64) {
		_, err := s.Engine().Write.ExecContext(t.Context(), `UPDATE pools SET version = ? WHERE id <> 'p'`, version)
		require.NoError(t, err)
	}
	imported := func(prefix string, progress func(done, total int)) {
		wanted := draw.CodeImport{PoolID: "p", PrizeID: "card", Actor: "test"}
		done, err := s.ImportCodes(t.Context(), wanted, lines(prefix, 2*codes.PartMax), progress)
		require.NoError(t, err)
		require.Equal(t, int64(2*codes.PartMax), done.Added)
	}
	const tooHigh = math.MaxInt64 // the sum overflows
	setVersion(tooHigh)
	imported("A", nil)
	setVersion(2)
	imported("B", func(int, int) { setVersion(tooHigh) })
	require.Zero(t, pauses)
}

// TestDryRunsRestBetweenParts: a dry run does not rest after its last part.
func TestDryRunsRestBetweenParts(t *testing.T) {
	t.Parallel()
	s := stocktest.Open(t, "sqlite:"+filepath.Join(t.TempDir(), "draws.db"), stock.Options{})
	stocktest.UseSealKeys(t, s, "k1")
	stocktest.CodedPool(t, s, "p")
	stocktest.Pool(t, s, "drawn", 100)
	pauses, hasRested := 0, make(chan struct{})
	increase := func() error {
		_, err := s.Engine().Write.ExecContext(t.Context(), `UPDATE pools SET version = version + 1 WHERE id = 'drawn'`)
		return err
	}
	s.PauseBy(func(context.Context, time.Duration) {
		if pauses++; pauses == 1 {
			close(hasRested)
		}
		require.NoError(t, increase())
	})
	drawing := make(chan error, 1)
	go func() {
		for {
			select {
			case <-hasRested:
				drawing <- nil
				return
			default:
			}
			if err := increase(); err != nil {
				drawing <- err
				return
			}
		}
	}()
	for pauses == 0 { // until a draw falls into the first part
		wanted := draw.CodeImport{PoolID: "p", PrizeID: "card", Actor: "test", DryRun: true}
		_, err := s.ImportCodes(t.Context(), wanted, lines("A", 2*codes.PartMax), nil)
		require.NoError(t, err)
		require.LessOrEqual(t, pauses, 1)
	}
	require.NoError(t, <-drawing)
}

// TestImportsSearchOnce: an import searches for each of its codes once, before it writes.
// It searches again if duplicates are skipped, or if several keys are in use.
func TestImportsSearchOnce(t *testing.T) {
	t.Parallel()
	proxy := servertest.StartProxy(t, servertest.Postgres(t))
	s := stocktest.Open(t, proxy.URL(), stock.Options{})
	stocktest.UseSealKeys(t, s, "k1")
	stocktest.CodedPool(t, s, "p")
	turns := func(prefix string, skip bool) int64 {
		before := proxy.Turns()
		wanted := draw.CodeImport{PoolID: "p", PrizeID: "card", Actor: "test", Skip: skip}
		_, err := s.ImportCodes(t.Context(), wanted, lines(prefix, codes.PartMax), nil)
		require.NoError(t, err)
		return proxy.Turns() - before
	}
	turns("A", false) // prepares the statements
	turns("B", true)
	const searches = codes.PartMax / 1000
	once := turns("C", false)
	require.Equal(t, int64(searches), turns("D", true)-once)
	stocktest.UseSealKeys(t, s, "k1", "k2")
	require.Equal(t, int64(3*searches), turns("E", false)-once)
}
