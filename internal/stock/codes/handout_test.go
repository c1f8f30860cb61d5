package codes_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestResealedCodesAreNotAway: a code was read with the write of its award. Before it is
// handed out, it is sealed again, and its old key is removed. Then it is read again, and
// the pool is still drawn from here. A code that cannot be opened after that read stops
// the pool.
func TestResealedCodesAreNotAway(t *testing.T) {
	t.Parallel()
	s := stocktest.Open(t, "sqlite:"+filepath.Join(t.TempDir(), "draws.db"), stock.Options{})
	stocktest.CodedPool(t, s, "p")
	want := stocktest.CodeLines("AAAA", 1)
	stocktest.ImportCodes(t, s, "p", want)
	var read draw.SealedCode
	row := s.Engine().Read.QueryRowContext(t.Context(), `SELECT key_id, sealed FROM codes`)
	require.NoError(t, row.Scan(&read.KeyID, &read.Bytes))
	require.Equal(t, "k1", read.KeyID)
	stocktest.UseSealKeys(t, s, "k2", "k1")
	_, err := s.ResealCodes(t.Context(), nil)
	require.NoError(t, err)
	stocktest.UseSealKeys(t, s, "k2")
	handOut := func() (string, error) {
		d := draw.Draw{PoolID: "p", Awards: []draw.Award{{PrizeID: "card", Unit: 1, HasCode: true, Sealed: &read}}}
		err := s.HandOut(t.Context(), "p", []*draw.Draw{&d})
		return d.Awards[0].Code, err
	}
	code, err := handOut()
	require.NoError(t, err)
	require.Equal(t, want[0], code)
	require.NoError(t, s.CodesAway("p"))
	stocktest.UseSealKeys(t, s, "k3")
	_, err = handOut()
	require.Equal(t, draw.CodeSealKeyMissing, draw.CodeOf(err))
	require.Equal(t, draw.CodeSealKeyMissing, draw.CodeOf(s.CodesAway("p")))
}
