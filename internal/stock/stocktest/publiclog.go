package stocktest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
)

// longLog creates a pool of one prize with many awards, in draws of seven. So a part of
// the log that is read ends within a draw. It returns the pool's version.
func longLog(t *testing.T, s *stock.Store, id string, batches int) int64 {
	t.Helper()
	const draws, units = 300, 7
	Pool(t, s, id, int64(batches*draws*units)+1000)
	version := int64(2)
	for b := range batches {
		var names []string
		for i := range draws * units {
			names = append(names, fmt.Sprintf("d-%d-%d", b, i/units))
		}
		p := Plan(id, version, "a", int64(b*draws*units), names...)
		for i := range p.Awards {
			p.Awards[i].Ordinal = 1 + i%units
		}
		require.NoError(t, Write(t, s, stock.TxOptions{}, p))
		version += draws * units
	}
	return version
}

// testLongLog: while a long log is read to be signed, draws from its pool continue, and
// their awards are signed too. Nothing is lost between the parts of the read.
func testLongLog(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	s.Unseal(Identities(t))
	version := longLog(t, s, "p", 12)
	Pool(t, s, "other", 1000)
	code(t, draw.CodePoolOpen, Commit(t, s, "p", 4, 1000))
	set := func(state draw.State) {
		_, err := s.ChangePool(ctx, "p", draw.PoolChange{State: &state}, "test")
		require.NoError(t, err)
	}
	set(draw.StatePaused)
	require.NoError(t, Commit(t, s, "p", 40, 1000))
	set(draw.StateOpen)
	issued, before := version-2, version+3
	version = before
	// A signer that holds the row the whole time admits only two draws, one before and
	// one after. On a busy machine a correct signer may admit no more, so the test then
	// repeats.
	during := int64(0)
	for tries := 0; during <= 3 && tries < 20; tries++ {
		signed := make(chan error, 1)
		go func() { signed <- s.Checkpoint(ctx, "p") }()
		for during = 0; len(signed) == 0; during++ {
			n := version - before
			writeBehind(t, s, Plan("p", version, "a", issued, fmt.Sprint("meanwhile-", n)))
			require.NoError(t, Write(t, s, stock.TxOptions{}, Plan("other", 2+n, "a", n, fmt.Sprint("meanwhile-", n))))
			version, issued = version+1, issued+1
		}
		require.NoError(t, <-signed)
	}
	require.Greater(t, during, int64(3), "draws that did not wait for the log to be read")
	set(draw.StateClosed)
	_, err := s.Reveal(ctx, "p")
	require.NoError(t, err)
	_, files := Export(t, s, "p")
	r, err := proof.Verify(files, proof.VerifyOptions{})
	require.NoError(t, err)
	require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
	require.Equal(t, version+1, r.Entries)
	require.Equal(t, version-before, r.Recomputed)
}

// writeBehind writes as the modes do. It retries if another session, here the signer,
// holds the pool's row for longer than a statement waits.
func writeBehind(t *testing.T, s *stock.Store, p *urn.Plan) {
	t.Helper()
	err := Write(t, s, stock.TxOptions{Lock: true}, p)
	for tries := 1; tries < triesMax && isLockWait(err); tries++ {
		err = Write(t, s, stock.TxOptions{Lock: true}, p)
	}
	require.NoError(t, err)
}

// triesMax is a number of tries that together take longer than any session holds a row.
const triesMax = 60

func isLockWait(err error) bool {
	e, is := errors.AsType[*stock.Error](err)
	return is && e.Reason == stock.ReasonLockWait
}

// testCommitBehindAgenda: items become due while a pool is being committed. They are in
// the log to which the pool is committed, although the rest of the log was read before.
func testCommitBehindAgenda(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	s.Unseal(Identities(t))
	Pool(t, s, "p", 9)
	at := InTime(t, s, "p", func(at time.Time) error {
		if err := plan(t, s, "p", []draw.Item{StockAt(at, "a", 1), StateAt(at, draw.StatePaused), StockAt(at, "a", 2)}); err != nil {
			return err
		}
		_, err := s.ChangePool(ctx, "p", draw.PoolChange{State: new(draw.StatePaused)}, "test")
		return err
	})
	Await(t, s, at)
	require.NoError(t, Commit(t, s, "p", 4, 10))
	pool, err := s.Pool(ctx, "p")
	require.NoError(t, err)
	require.EqualValues(t, 12, pool.Prizes[0].Stocked)
	_, err = s.ChangePool(ctx, "p", draw.PoolChange{State: new(draw.StateClosed)}, "test")
	require.NoError(t, err)
	_, err = s.Reveal(ctx, "p")
	require.NoError(t, err)
	_, files := Export(t, s, "p")
	r, err := proof.Verify(files, proof.VerifyOptions{})
	require.NoError(t, err)
	require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
	require.Equal(t, pool.Version+1, r.Entries)
}
