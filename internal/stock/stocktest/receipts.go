package stocktest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
)

// signedPool creates a committed pool with many draws, most of them of three units. Moves
// and changes of rules come between the draws. It has no checkpoint.
func signedPool(t *testing.T, s *stock.Store, draws int) (version int64) {
	t.Helper()
	s.Unseal(Identities(t))
	Pool(t, s, "p", 10_000)
	setState(t, s, "p", draw.StatePaused)
	require.NoError(t, Commit(t, s, "p", 4, 100_000))
	setState(t, s, "p", draw.StateOpen)
	issued := int64(0)
	for n := 0; n < draws; {
		p, err := s.Pool(t.Context(), "p")
		require.NoError(t, err)
		var ids []string
		for ; len(ids) < 150 && n < draws; n++ {
			for range 1 + n%4 {
				ids = append(ids, fmt.Sprint("d", n))
			}
		}
		require.NoError(t, Write(t, s, stock.TxOptions{}, planOf("ann", "p", p.Version, issued, ids...)))
		issued += int64(len(ids))
		if n%3 == 0 {
			_, err = s.Stock(t.Context(), draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 7, Reason: "more"}, "anna")
			require.NoError(t, err)
		}
		_, err = s.AddPrize(t.Context(), "p", draw.Prize{ID: fmt.Sprint("late-", n), Name: "Late", Stocked: 1}, "anna")
		require.NoError(t, err)
		name := "Later"
		_, err = s.ChangePrize(t.Context(), "p", fmt.Sprint("late-", n), draw.PrizeChange{Name: &name}, "anna")
		require.NoError(t, err)
	}
	p, err := s.Pool(t.Context(), "p")
	require.NoError(t, err)
	return p.Version
}

func setState(t *testing.T, s *stock.Store, pool string, state draw.State) {
	t.Helper()
	_, err := s.ChangePool(t.Context(), pool, draw.PoolChange{State: &state}, "anna")
	require.NoError(t, err)
}

// holds reports whether a draw's receipt can be proven to be in the log.
func holds(t *testing.T, s *stock.Store, drawID string) (proven bool) {
	t.Helper()
	r, included, err := s.DrawReceipt(t.Context(), "p", drawID)
	require.NoError(t, err)
	text, err := s.Published(t.Context(), "p", "key")
	require.NoError(t, err)
	key, err := proof.Verifier(strings.TrimSuffix(string(text), "\n"))
	require.NoError(t, err)
	p, err := r.Open(key)
	require.NoError(t, err)
	require.NoError(t, p.Opens(drawID, "ann"))
	if included == nil {
		return false
	}
	_, err = p.Includes(included, key)
	require.NoError(t, err)
	return true
}

// testReceiptsProven: a receipt is proven as soon as a checkpoint covers it, also in a
// log of many tiles. Hashes of another history are read again. Rows that differ from the
// signed log give no proof.
func testReceiptsProven(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	const draws = 700
	version := signedPool(t, s, draws)
	require.Greater(t, version, int64(1500))
	require.False(t, holds(t, s, "d3"), "no checkpoint covers it")
	require.NoError(t, s.Checkpoint(ctx, "p"))
	for i := 0; i < draws; i += 23 {
		require.True(t, holds(t, s, fmt.Sprint("d", i)), "d%d", i)
	}
	require.NoError(t, Write(t, s, stock.TxOptions{}, planOf("ann", "p", version, 1745, "late")))
	require.False(t, holds(t, s, "late"))
	require.True(t, holds(t, s, "d0"), "its checkpoint is the first that covers it")
	require.NoError(t, s.Checkpoint(ctx, "p"))
	require.True(t, holds(t, s, "late"))

	// Another history has an award of another user, and its own checkpoints.
	ExecAll(t, s, []string{`UPDATE awards SET user_id = 'bob' WHERE draw_id = 'd7'`, `DELETE FROM checkpoints`})
	require.False(t, holds(t, s, "d300"))
	require.NoError(t, s.Checkpoint(ctx, "p"))
	require.True(t, holds(t, s, "d300"), "the hashes were read anew")
	ExecAll(t, s, []string{`UPDATE awards SET user_id = 'cleo' WHERE draw_id = 'd301'`})
	require.False(t, holds(t, s, "d300"), "the rows beside it are not those that were signed")

	_, _, err := s.DrawReceipt(ctx, "p", "none")
	code(t, draw.CodeDrawNotFound, err)
	_, _, err = s.DrawReceipt(ctx, "none", "d1")
	code(t, draw.CodePoolNotFound, err)
	Pool(t, s, "secret", 10)
	require.NoError(t, Write(t, s, stock.TxOptions{}, planOf("ann", "secret", 2, 0, "d1")))
	_, _, err = s.DrawReceipt(ctx, "secret", "d1")
	code(t, draw.CodeNotFound, err)
	known, err := s.Draw(ctx, "secret", "d1")
	require.NoError(t, err)
	_, err = s.Receipt(ctx, &known)
	code(t, draw.CodeInvalidRequest, err)
	_, err = drawReceipted(t, s, urn.NewUrn("secret"), "ann", "d2")
	code(t, draw.CodeInvalidRequest, err)
}

// testEraseCommitted: if users of a committed pool are erased, before or after its
// commitment, its log stays the same, byte for byte. A user whose draws were counted by
// limits can be erased when nobody can draw any more.
func testEraseCommitted(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	pseudonym := stock.Pseudonym([]byte("key"), "p", "ann")
	campaign(t, s, "p", `{"fallback":"none"}`)
	urn := urn.NewUrn("p")
	_, err := drawOne(t, s, urn, stock.TxOptions{}, "ann", "early")
	require.NoError(t, err)
	_, err = s.EraseUser(ctx, "p", "ann", pseudonym, "cleo")
	require.NoError(t, err)
	setState(t, s, "p", draw.StatePaused)
	require.NoError(t, Commit(t, s, "p", 4, 1000), "the log has a line for the change")
	setState(t, s, "p", draw.StateOpen)
	s.Unseal(Identities(t))
	each := func(user string, from, to int) {
		for i := from; i < to; i++ {
			_, err := drawOne(t, s, urn, stock.TxOptions{}, user, fmt.Sprint(user, i))
			require.NoError(t, err)
		}
	}
	each("ann", 0, 4)
	each("bob", 0, 2)
	log := exported(t, s)
	s.Unseal(nil)
	_, err = s.EraseUser(ctx, "p", "ann", pseudonym, "cleo")
	code(t, draw.CodeSeedUnavailable, err)
	s.Unseal(Identities(t))
	n, err := s.EraseUser(ctx, "p", "ann", pseudonym, "cleo")
	require.NoError(t, err)
	require.Equal(t, int64(4), n)
	require.Equal(t, log, exported(t, s), "nothing of the log has changed")

	each("ann", 4, 6)
	_, err = s.SetRules(ctx, "p", rulesOf(t, `{"fallback":"none","limits":[{"of":"draws","max":5,"per":"day"}],"guarantee":{"after":3,"prize":"gold"}}`), nil, "cleo")
	require.NoError(t, err)
	n, err = s.EraseUser(ctx, "p", "ann", pseudonym, "cleo")
	require.NoError(t, err, "no limit has counted her yet")
	require.Equal(t, int64(2), n)
	each("ann", 6, 9)
	_, err = s.EraseUser(ctx, "p", "ann", pseudonym, "cleo")
	code(t, draw.CodePoolOpen, err)
	log = exported(t, s)
	setState(t, s, "p", draw.StateClosed)
	_, err = s.Reveal(ctx, "p")
	require.NoError(t, err)
	log += strings.TrimPrefix(exported(t, s), log)
	n, err = s.EraseUser(ctx, "p", "ann", pseudonym, "cleo")
	require.NoError(t, err)
	require.Equal(t, int64(3), n)
	require.Equal(t, log, exported(t, s))
	require.Empty(t, left(t, s, `SELECT COUNT(*) FROM awards WHERE user_id = 'ann'`)+left(t, s, `SELECT COUNT(*) FROM turns WHERE user_id = 'ann'`))
	NoViolations(t, s, "p")
	audit, err := s.AuditDeep(ctx, "p")
	require.NoError(t, err)
	require.Empty(t, audit.Violations)
	_, files := Export(t, s, "p")
	r, err := proof.Verify(files, proof.VerifyOptions{})
	require.NoError(t, err)
	require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
	d, err := s.Draw(ctx, "p", "ann7")
	require.NoError(t, err)
	_, erased := draw.ErasedTag(d.UserID)
	require.True(t, erased, d.UserID)
	require.Error(t, (&draw.Request{PoolID: "p", UserID: d.UserID, DrawID: "x", Count: 1}).Check(), "nobody draws under a tag")

	ExecAll(t, s, []string{`UPDATE awards SET user_id = '` + pseudonym + `' WHERE draw_id = 'ann7'`}) // the broken double
	var b strings.Builder
	_, err = s.ExportProof(ctx, "p", &b)
	require.ErrorIs(t, err, stock.ErrForked)
}

// testEraseSalts: after the secret of a pool's tags is destroyed, its log is refused
// instead of written differently, and users are erased as in other pools.
func testEraseSalts(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	s.Unseal(Identities(t))
	Pool(t, s, "p", 20, 20)
	setState(t, s, "p", draw.StatePaused)
	require.NoError(t, Commit(t, s, "p", 4, 1000))
	setState(t, s, "p", draw.StateOpen)
	urn := urn.NewUrn("p")
	for i := range 30 {
		_, err := drawOne(t, s, urn, stock.TxOptions{}, "ann", fmt.Sprint("d", i))
		require.NoError(t, err)
	}
	_, unfinished := Export(t, s, "p")
	code(t, draw.CodePoolOpen, s.EraseSalts(ctx, "p", unfinished, "cleo"))
	setState(t, s, "p", draw.StateClosed)
	code(t, draw.CodePoolOpen, s.EraseSalts(ctx, "p", unfinished, "cleo"))
	revealed, err := s.Reveal(ctx, "p")
	require.NoError(t, err)
	refused := func(files fs.FS, why string) {
		err := s.EraseSalts(ctx, "p", files, "cleo")
		code(t, draw.CodeInvalidRequest, err)
		require.ErrorContains(t, err, why)
	}
	refused(unfinished, "they lack its reveal")
	_, files := Export(t, s, "p")
	name := "Later"
	_, err = s.ChangePool(ctx, "p", draw.PoolChange{Name: &name}, "cleo")
	require.NoError(t, err)
	refused(files, "kept: ")
	dir, files := Export(t, s, "p")
	require.NoError(t, os.Rename(filepath.Join(dir, "log.jsonl"), filepath.Join(dir, "log")))
	refused(files, "file: ")
	require.NoError(t, os.Rename(filepath.Join(dir, "log"), filepath.Join(dir, "log.jsonl")))
	before, err := s.Proof(ctx, "p")
	require.NoError(t, err)
	require.True(t, holds(t, s, "d3"))
	s.Unseal(nil)
	code(t, draw.CodeSeedUnavailable, s.EraseSalts(ctx, "p", files, "cleo"))
	s.Unseal(Identities(t))
	require.NoError(t, s.EraseSalts(ctx, "p", files, "cleo"))
	require.NoError(t, s.EraseSalts(ctx, "p", unfinished, "cleo"), "once more")
	again, err := s.Reveal(ctx, "p")
	require.NoError(t, err)
	require.Equal(t, revealed, again)
	after, err := s.Proof(ctx, "p")
	require.NoError(t, err)
	require.Equal(t, before, after, "the short files are those that were signed")
	saltsAreErased(t, s, "p", "ann", "d3")
	NoViolations(t, s, "p")
	Pool(t, s, "secret", 10)
	code(t, draw.CodeNotFound, s.EraseSalts(ctx, "secret", files, "cleo"))
}

// saltsAreErased requires that neither the log nor a receipt of a pool can be written any
// more. It also requires that its users are erased by pseudonyms, as in a pool whose
// numbers are secret.
func saltsAreErased(t *testing.T, s *stock.Store, pool, user, drawID string) {
	t.Helper()
	ctx := t.Context()
	heads, err := s.PublicHeads(ctx, "")
	require.NoError(t, err)
	require.Empty(t, heads, "nothing more can be published")
	_, err = s.Publishing(ctx, pool)
	code(t, draw.CodeNotFound, err)
	var b strings.Builder
	_, err = s.ExportProof(ctx, pool, &b)
	code(t, draw.CodeNotFound, err)
	require.Contains(t, err.Error(), "was destroyed")
	code(t, draw.CodeNotFound, s.WriteProofLog(ctx, pool, &b, func() {}))
	require.Empty(t, b.String())
	_, _, err = s.DrawReceipt(ctx, pool, drawID)
	code(t, draw.CodeNotFound, err)
	pseudonym := stock.Pseudonym([]byte("key"), pool, user)
	n, err := s.EraseUser(ctx, pool, user, pseudonym, "cleo")
	require.NoError(t, err)
	require.Positive(t, n)
	d, err := s.Draw(ctx, pool, drawID)
	require.NoError(t, err)
	require.Equal(t, pseudonym, d.UserID)
}

// exported returns the log as a string.
func exported(t *testing.T, s *stock.Store) string {
	t.Helper()
	var b strings.Builder
	_, err := s.ExportProof(t.Context(), "p", &b)
	require.NoError(t, err)
	return b.String()
}
