package stock_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// drawerFile is a variable of the environment. It makes the test's binary a process that
// draws from the SQLite file with that name until it is killed.
const drawerFile = "DRAWSVC_TEST_DRAWER"

// childWork does the work of a child process and exits, if this is a child process.
func childWork() {
	path, backup := os.Getenv(drawerFile), os.Getenv(restoreFrom)
	if path != "" && backup != "" {
		if _, err := stock.Restore(context.Background(), "sqlite:"+path, backup, stock.Options{}); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	if path != "" {
		panic(drawForever(path))
	}
}

// smallWAL makes the service copy the WAL to the file so often that a short test has many
// generations.
const smallWAL = 40

// drawForever draws and moves stock in small transactions. It prints a line for each
// transaction that is acknowledged, and returns the error that ends it.
func drawForever(path string) error {
	ctx := context.Background()
	s, err := stock.Open(ctx, "sqlite:"+path, stock.Options{WALPages: smallWAL, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if err := s.Migrate(ctx); err != nil {
		return err
	}
	for {
		id := fmt.Sprintf("pool-%d", mathrand.N(3))
		version, err := drawSome(ctx, s, id)
		if draw.CodeOf(err) == draw.CodePoolNotFound {
			prizes := []draw.Prize{{ID: "a", Name: "A", Stocked: 1e9}, {ID: "b", Name: "B", Stocked: 1e9}, {ID: "c", Name: "C", Stocked: 1e9}}
			if _, err := s.CreatePool(ctx, draw.Pool{ID: id, Name: id, Prizes: prizes}, "test"); err != nil {
				return err
			}
		} else if err != nil {
			return err
		} else {
			fmt.Println(id, version)
		}
		if mathrand.N(10) == 0 {
			if _, err := s.Stock(ctx, draw.Stocking{PoolID: id, PrizeID: "b", Delta: 5, Reason: "restock"}, "test"); err != nil {
				return err
			}
		}
	}
}

// drawSome draws a few units of one prize of the pool, and returns the pool's version
// after that.
func drawSome(ctx context.Context, s *stock.Store, poolID string) (int64, error) {
	pool, err := s.Pool(ctx, poolID)
	if err != nil {
		return 0, err
	}
	ids := make([]string, 1+mathrand.N(12))
	for i := range ids {
		ids[i] = rand.Text()
	}
	prize := pool.Prizes[mathrand.N(len(pool.Prizes))]
	urn := urn.NewUrn(poolID)
	tx, err := s.Read(ctx, urn, stock.TxOptions{Lock: true})
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	plan := stocktest.On(urn, stocktest.Plan(poolID, pool.Version, prize.ID, prize.Issued, ids...))
	return pool.Version + int64(len(ids)), tx.Write(ctx, plan)
}

// drawer is a process that draws from a file.
type drawer struct {
	tb    testing.TB
	cmd   *exec.Cmd
	lines *bufio.Scanner
	// acknowledged holds the version that each pool has reached.
	acknowledged map[string]int64
}

func startDrawer(tb testing.TB, path string) *drawer {
	d := &drawer{tb: tb, acknowledged: map[string]int64{}}
	d.cmd = exec.CommandContext(tb.Context(), os.Args[0])
	d.cmd.Env = append(os.Environ(), drawerFile+"="+path)
	out, err := d.cmd.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, d.cmd.Start())
	d.lines = bufio.NewScanner(out)
	return d
}

// await reads n more acknowledgements.
func (d *drawer) await(n int) {
	d.tb.Helper()
	for range n {
		require.True(d.tb, d.lines.Scan(), "the drawer has ended")
		d.take()
	}
}

func (d *drawer) take() {
	var id string
	var version int64
	_, err := fmt.Sscan(d.lines.Text(), &id, &version)
	require.NoError(d.tb, err, d.lines.Text())
	d.acknowledged[id] = version
}

// kill kills the process, and reads which draws it has acknowledged.
func (d *drawer) kill() {
	d.tb.Helper()
	require.NoError(d.tb, d.cmd.Process.Kill())
	for d.lines.Scan() {
		d.take()
	}
	_ = d.cmd.Wait() // it was killed
}
