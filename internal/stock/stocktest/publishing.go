package stocktest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
)

// livedPool creates a committed pool with prizes from before and after its opening,
// corrections, several changes of rules, and draws of one unit and of many.
func livedPool(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	s.Unseal(Identities(t))
	Pool(t, s, "p", 500, 500)
	name, value := "Gold", decimal.RequireFromString("19.90")
	_, err := s.ChangePrize(ctx, "p", "b", draw.PrizeChange{Name: &name, Value: &value}, "test")
	require.NoError(t, err)
	change := func(c draw.PoolChange) {
		_, err := s.ChangePool(ctx, "p", c, "test")
		require.NoError(t, err)
	}
	change(draw.PoolChange{State: new(draw.StatePaused)})
	require.NoError(t, Commit(t, s, "p", 2, 1000))
	change(draw.PoolChange{State: new(draw.StateOpen)})
	rules := func(document string) {
		var r *draw.Rules
		if document != "" {
			r, err = rules.Parse([]byte(document))
			require.NoError(t, err)
		}
		_, err = s.SetRules(ctx, "p", r, nil, "test")
		require.NoError(t, err)
	}
	issued := int64(0)
	for i, document := range []string{"", `{"blocked":["nobody"]}`, "", `{"limits":[{"of":"draws","max":1000}]}`} {
		if i > 0 {
			rules(document)
		}
		pool, err := s.Pool(ctx, "p")
		require.NoError(t, err)
		ids := make([]string, 40)
		for n := range ids {
			ids[n] = fmt.Sprint("d", i, "-", n/20) // two draws of twenty
		}
		require.NoError(t, Write(t, s, stock.TxOptions{Lock: true}, ofMany(Plan("p", pool.Version, "a", issued, ids...))))
		issued += int64(len(ids))
		_, err = s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "b", Delta: 7, Reason: "more"}, "test")
		require.NoError(t, err)
	}
}

// ofMany sets the ordinals of awards that belong to the same draw.
func ofMany(p *urn.Plan) *urn.Plan {
	ordinals := map[string]int{}
	for i := range p.Awards {
		ordinals[p.Awards[i].DrawID]++
		p.Awards[i].Ordinal = ordinals[p.Awards[i].DrawID]
	}
	return p
}

// testPublishing: the lines from any version on are those of the whole log, in pages that
// contain complete draws. Checkpoints are stored once.
func testPublishing(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	livedPool(t, s)
	heads, err := s.PublicHeads(ctx, "")
	require.NoError(t, err)
	require.Len(t, heads, 1)
	require.Equal(t, "p", heads[0].PoolID)
	require.Empty(t, heads[0].Reveal)
	p, err := s.Publishing(ctx, "p")
	require.NoError(t, err)
	all, err := p.Lines(ctx, 1, 1<<20)
	require.NoError(t, err)
	require.True(t, all.Ended)
	require.True(t, all.Writable)
	require.EqualValues(t, heads[0].Version, len(all.Lines))
	var exported bytes.Buffer
	_, err = s.ExportProof(ctx, "p", &exported)
	require.NoError(t, err)
	var tree proof.Tree
	for i, l := range all.Lines {
		require.EqualValues(t, i+1, l.Version)
		tree.Add(l.Text)
	}
	require.Equal(t, exported.String(), text(all.Lines))
	for from := range all.Lines {
		some, err := p.Lines(ctx, int64(from)+1, 15)
		require.NoError(t, err)
		require.NotEmpty(t, some.Lines)
		require.Less(t, len(some.Lines), 15+20)
		require.Equal(t, text(all.Lines[from:from+len(some.Lines)]), text(some.Lines), "from version %d", from+1)
		require.Equal(t, from+len(some.Lines) == len(all.Lines), some.Ended)
	}
	none, err := p.Lines(ctx, int64(len(all.Lines))+1, 15)
	require.NoError(t, err)
	require.Empty(t, none.Lines)
	testKeep(t, s, p, tree)

	_, err = s.PublicHeads(ctx, "other")
	require.Equal(t, draw.CodePoolNotFound, draw.CodeOf(err))
	Pool(t, s, "secret", 1)
	_, err = s.PublicHeads(ctx, "secret")
	require.Equal(t, draw.CodeNotFound, draw.CodeOf(err))
	_, err = s.Publishing(ctx, "secret")
	require.Equal(t, draw.CodeNotFound, draw.CodeOf(err))
}

func text(lines []proof.Numbered) string {
	var b bytes.Buffer
	for _, l := range lines {
		b.Write(l.Text)
	}
	return b.String()
}

// testKeep: a checkpoint is stored once and can get more signatures. A checkpoint with
// another root does not replace it.
func testKeep(t *testing.T, s *stock.Store, p *stock.Publishing, tree proof.Tree) {
	ctx := t.Context()
	size := tree.Size() + 5
	sign := func(root [32]byte) []byte {
		note, err := p.Sign((&proof.Checkpoint{Origin: p.Origin(), Size: size, Root: root}).Text())
		require.NoError(t, err)
		return note
	}
	note := sign(tree.Root())
	require.NoError(t, p.Keep(ctx, size, note))
	require.NoError(t, p.Keep(ctx, size, note))
	cosigned := append(bytes.Clone(note), "— witness.example AAAAAAAAAAA=\n"...)
	require.NoError(t, p.Keep(ctx, size, cosigned))
	require.NoError(t, p.Keep(ctx, size, note), "it has more signatures already")
	require.ErrorIs(t, p.Keep(ctx, size, sign([32]byte{1})), stock.ErrForked)
	signed, err := p.Signed(ctx, tree.Size())
	require.NoError(t, err)
	require.Equal(t, [][]byte{cosigned}, signed)
	latest, err := s.Published(ctx, "p", "checkpoint")
	require.NoError(t, err)
	require.Equal(t, string(cosigned), string(latest))
	_, err = s.ExportProof(ctx, "p", &bytes.Buffer{})
	require.ErrorIs(t, err, stock.ErrForked, "a log that was signed has lost entries")
}
