package stocktest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/servertest/drand"
	"drawsvc/internal/stock"
)

// NewChain returns a beacon for tests that has a round every 3 seconds.
func NewChain(tb testing.TB) *drand.Chain {
	tb.Helper()
	return drand.New(tb, 1_700_000_000, 3)
}

// CommitToBeacon commits a paused pool to a beacon.
func CommitToBeacon(tb testing.TB, s *stock.Store, chain *drand.Chain, poolID string, epochs, length int64, whileOpen bool) {
	tb.Helper()
	note, err := commitToBeacon(tb, s, chain, poolID, epochs, length, whileOpen)
	require.NoError(tb, err)
	require.Contains(tb, string(note), "\nbeacon "+chain.Beacon()+"\n")
}

func commitToBeacon(tb testing.TB, s *stock.Store, chain *drand.Chain, poolID string, epochs, length int64, whileOpen bool) ([]byte, error) {
	tb.Helper()
	to, err := proof.ParseRecipients(Recipient)
	require.NoError(tb, err)
	beacon, err := proof.ParseBeacon(chain.Beacon())
	require.NoError(tb, err)
	return s.CommitPool(tb.Context(), stock.Committing{
		PoolID: poolID, Host: "draws.example.org", Epochs: epochs, EpochLength: length, Beacon: beacon, StockWhileOpen: whileOpen,
		Recipients: to, Actor: "test",
	})
}

// ChangeState changes a pool's state, with a round if the pool has a beacon.
func ChangeState(tb testing.TB, s *stock.Store, poolID string, state draw.State, round *draw.Round) (draw.Pool, error) {
	tb.Helper()
	for {
		p, err := s.ChangePool(tb.Context(), poolID, draw.PoolChange{State: &state, Round: round}, "test")
		if draw.CodeOf(err) != draw.CodeContended { // retries while the pool is busy
			return p, err
		}
	}
}

// OpenWith announces a round and opens the pool with that round.
func OpenWith(tb testing.TB, s *stock.Store, chain *drand.Chain, poolID string) draw.Round {
	tb.Helper()
	round, err := openWith(tb, s, chain, poolID)
	require.NoError(tb, err)
	return round
}

func openWith(tb testing.TB, s *stock.Store, chain *drand.Chain, poolID string) (draw.Round, error) {
	tb.Helper()
	p, err := ChangeState(tb, s, poolID, draw.StateOpen, nil)
	if err != nil {
		return draw.Round{}, err
	}
	require.Equal(tb, draw.StatePaused, p.State)
	round := draw.Round{Number: p.Round, Signature: chain.Sign(p.Round)}
	p, err = ChangeState(tb, s, poolID, draw.StateOpen, &round)
	if err == nil {
		require.Equal(tb, draw.StateOpen, p.State)
	}
	return round, err
}

// blindPool creates a paused pool that is committed to a beacon.
func blindPool(t *testing.T, s *stock.Store, whileOpen bool) *drand.Chain {
	t.Helper()
	s.Unseal(Identities(t))
	campaign(t, s, "p", `{"fallback":"none"}`)
	_, err := ChangeState(t, s, "p", draw.StatePaused, nil)
	require.NoError(t, err)
	chain := NewChain(t)
	CommitToBeacon(t, s, chain, "p", 2, 100, whileOpen)
	return chain
}

// unchanged requires that the function between does not change the pool.
func unchanged(t *testing.T, s *stock.Store, between func()) {
	t.Helper()
	before, err := s.Pool(t.Context(), "p")
	require.NoError(t, err)
	between()
	after, err := s.Pool(t.Context(), "p")
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// testOpening: a pool with a beacon opens only with the announced round, and a refused
// opening changes nothing.
func testOpening(t *testing.T, s *stock.Store) {
	chain := blindPool(t, s, false)
	open := func(round *draw.Round) error {
		_, err := ChangeState(t, s, "p", draw.StateOpen, round)
		return err
	}
	unchanged(t, s, func() {
		code(t, draw.CodeRoundNotAnnounced, open(&draw.Round{Number: 7, Signature: chain.Sign(7)}))
	})
	announced, err := ChangeState(t, s, "p", draw.StateOpen, nil)
	require.NoError(t, err)
	require.Equal(t, draw.StatePaused, announced.State)
	changes, err := s.Changes(t.Context(), "p", announced.Version-1, 1)
	require.NoError(t, err)
	require.GreaterOrEqual(t, announced.RoundAt.Sub(changes[0].At).Seconds(), 6.0, "two periods")
	good := chain.Sign(announced.Round)
	unchanged(t, s, func() {
		again, err := ChangeState(t, s, "p", draw.StateOpen, nil)
		require.NoError(t, err)
		require.Equal(t, announced, again, "what is announced stays so")
		for _, n := range []int64{announced.Round - 1, announced.Round + 1, 0, -1} {
			code(t, draw.CodeRoundNotAnnounced, open(&draw.Round{Number: n, Signature: good}))
		}
		for name, signature := range map[string]string{
			"another round's": chain.Sign(announced.Round + 1), "another chain's": NewChain(t).Sign(announced.Round),
			"upper case": strings.ToUpper(good), "short": good[:94], "empty": "", "identity": "c0" + strings.Repeat("0", 94),
			"off the curve": "80" + strings.Repeat("0", 92) + "01", "off the subgroup": "80" + strings.Repeat("0", 92) + "04",
		} {
			require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(open(&draw.Round{Number: announced.Round, Signature: signature})), name)
		}
	})
	round := draw.Round{Number: announced.Round, Signature: good}
	require.NoError(t, open(&round))
	opened, err := s.Pool(t.Context(), "p")
	require.NoError(t, err)
	require.Equal(t, draw.StateOpen, opened.State)
	require.Zero(t, opened.Round)
	require.True(t, opened.RoundAt.IsZero())
	unchanged(t, s, func() {
		require.NoError(t, open(&round), "the same request again")
		require.NoError(t, open(nil), "it is open")
		code(t, draw.CodeRoundNotAnnounced, open(&draw.Round{Number: round.Number + 1, Signature: chain.Sign(round.Number + 1)}))
	})
	_, err = ChangeState(t, s, "p", draw.StatePaused, nil)
	require.NoError(t, err)
	unchanged(t, s, func() { code(t, draw.CodeRoundNotAnnounced, open(&round)) }) // a round opens a pool only once
	proven(t, s)
}

// testOpeningPlain: a pool without a beacon accepts no round.
func testOpeningPlain(t *testing.T, s *stock.Store) {
	s.Unseal(Identities(t))
	campaign(t, s, "p", `{"fallback":"none"}`)
	chain := NewChain(t)
	round := &draw.Round{Number: 7, Signature: chain.Sign(7)}
	for range 2 {
		_, err := ChangeState(t, s, "p", draw.StatePaused, nil)
		require.NoError(t, err)
		unchanged(t, s, func() {
			_, err := ChangeState(t, s, "p", draw.StateOpen, round)
			code(t, draw.CodeInvalidRequest, err)
		})
		_ = Commit(t, s, "p", 2, 100)
	}
}

// proven closes the pool and verifies its files.
func proven(t *testing.T, s *stock.Store) proof.Report {
	t.Helper()
	_, err := ChangeState(t, s, "p", draw.StateClosed, nil)
	require.NoError(t, err)
	_, err = s.Reveal(t.Context(), "p")
	require.NoError(t, err)
	_, files := Export(t, s, "p")
	r, err := proof.Verify(files, proof.VerifyOptions{})
	require.NoError(t, err)
	require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
	NoViolations(t, s, "p")
	return r
}
