package stocktest

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/seal"
	"drawsvc/internal/stock"
)

// SealKeyLine returns a line of a key file. Each id always gets the same bytes.
func SealKeyLine(id string) string {
	secret := sha256.Sum256([]byte("a seal key of tests: " + id))
	return id + " " + base64.StdEncoding.EncodeToString(secret[:])
}

// SealKeys returns the keys of a key file with the given ids, in that order.
func SealKeys(tb testing.TB, ids ...string) *seal.Keeper {
	tb.Helper()
	keeper := &seal.Keeper{}
	ReplaceSealKeys(tb, keeper, ids...)
	return keeper
}

// ReplaceSealKeys replaces the keys in use by those with the given ids.
func ReplaceSealKeys(tb testing.TB, keeper *seal.Keeper, ids ...string) {
	tb.Helper()
	if len(ids) == 0 {
		keeper.Replace(nil)
		return
	}
	lines := make([]string, len(ids))
	for i, id := range ids {
		lines[i] = SealKeyLine(id)
	}
	ring, err := seal.ParseKeys([]byte(strings.Join(lines, "\n")))
	require.NoError(tb, err)
	keeper.Replace(ring)
}

// UseSealKeys makes a store use the keys with the given ids.
func UseSealKeys(tb testing.TB, s *stock.Store, ids ...string) {
	tb.Helper()
	s.ReplaceSealKeys(SealKeys(tb, ids...).Ring())
}

// CodeLines returns n codes. Codes with different prefixes differ.
func CodeLines(prefix string, n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("%s-%06d", prefix, i+1)
	}
	return lines
}

// CodedPool creates a pool with one prize, "card", which is of the kind with codes but
// has no codes yet.
func CodedPool(tb testing.TB, s *stock.Store, id string) {
	tb.Helper()
	card := draw.Prize{ID: "card", Name: "Card", Value: decimal.New(2500, -2), HasCodes: true}
	_, err := s.CreatePool(tb.Context(), draw.Pool{ID: id, Name: "Pool " + id, Prizes: []draw.Prize{card}}, "test")
	require.NoError(tb, err)
}

// ImportCodes imports lines for the prize "card".
func ImportCodes(tb testing.TB, s *stock.Store, poolID string, lines []string) draw.ImportedCodes {
	tb.Helper()
	done, err := TryImportCodes(tb, s, draw.CodeImport{PoolID: poolID}, lines)
	require.NoError(tb, err)
	return done
}

// TryImportCodes imports lines by the request w, and may fail.
func TryImportCodes(tb testing.TB, s *stock.Store, w draw.CodeImport, lines []string) (draw.ImportedCodes, error) {
	tb.Helper()
	w.PrizeID, w.Actor = "card", "test"
	return s.ImportCodes(tb.Context(), w, strings.NewReader(strings.Join(lines, "\n")+"\n"), nil)
}
