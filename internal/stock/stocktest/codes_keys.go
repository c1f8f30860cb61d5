package stocktest

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/seal"
	"drawsvc/internal/stock"
)

// testCodesOfAgenda: an agenda paces the units of a prize with codes, from its reserve. A
// planned move that lacks codes becomes a failed item.
func testCodesOfAgenda(t *testing.T, s *stock.Store) {
	CodedPool(t, s, "spring")
	_, err := TryImportCodes(t, s, draw.CodeImport{PoolID: "spring", Reserve: true}, CodeLines("PACE", 5))
	require.NoError(t, err)
	at := planSoon(t, s, "spring", func(at time.Time) []draw.Item {
		return []draw.Item{StockAt(at, "card", 2), StockAt(at, "card", 3), StockAt(at, "card", 1)}
	})
	Await(t, s, at)
	require.NoError(t, s.RunDue(t.Context(), "spring"))
	card, _ := cardOf(t, s, "spring")
	require.Equal(t, [2]int64{5, 5}, [2]int64{card.Places, card.Stocked})
	entries, err := s.Log(t.Context(), "spring", 0, 100)
	require.NoError(t, err)
	last := entries[len(entries)-1].Change
	require.NotNil(t, last)
	require.Contains(t, last.Body, `"failed":"codes-missing"`)
	NoViolations(t, s, "spring")
}

// testCodesResealed: keys are replaced while codes are handed out. The former key is
// removed when nothing is sealed under it any more.
func testCodesResealed(t *testing.T, s *stock.Store) {
	CodedPool(t, s, "spring")
	lines := CodeLines("SEAL", 2300)
	ImportCodes(t, s, "spring", lines[:1200])
	awards := awardCodes(t, s, "spring", 5)
	UseSealKeys(t, s, "k2", "k1")
	ImportCodes(t, s, "spring", lines[1200:])
	known := func() {
		t.Helper()
		_, err := TryImportCodes(t, s, draw.CodeImport{PoolID: "spring"}, lines[:1])
		code(t, draw.CodeInvalidRequest, err)
		codes, err := handOut(t, s, "spring", awards)
		require.NoError(t, err)
		require.Equal(t, lines[:5], codes)
		NoViolations(t, s, "spring")
	}
	sealedUnder := func(want map[string]int64) {
		t.Helper()
		counts, err := s.CodeCounts(t.Context(), "spring", "card")
		require.NoError(t, err)
		require.Equal(t, want, counts.Keys)
	}
	known() // the code is also found under the former key
	sealedUnder(map[string]int64{"k1": 1200, "k2": 1100})
	for _, want := range []int64{1200, 0} {
		n, err := s.ResealCodes(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	sealedUnder(map[string]int64{"k2": 2300})
	UseSealKeys(t, s, "k2")
	known()
	require.NoError(t, s.CheckKeys(t.Context()))
	require.NoError(t, s.CodesAway("spring"))
	UseSealKeys(t, s, "k1")
	require.NoError(t, s.CheckKeys(t.Context()))
	require.Error(t, s.CodesAway("spring"), "the former key opens nothing any more")
}

// testCodesOfOtherKeys: without the key, or with other bytes under its id, nothing is
// imported or handed out. The pool is reported as one whose codes cannot be unsealed
// here.
func testCodesOfOtherKeys(t *testing.T, s *stock.Store) {
	CodedPool(t, s, "spring")
	CodedPool(t, s, "autumn")
	lines := CodeLines("KEYS", 3)
	ImportCodes(t, s, "spring", lines)
	awards := awardCodes(t, s, "spring", 1)
	other, err := seal.ParseKeys([]byte("k1 " + strings.Fields(SealKeyLine("another"))[1]))
	require.NoError(t, err)
	for name, ring := range map[string]*seal.Ring{"none": nil, "another id": SealKeys(t, "k9").Ring(), "other bytes": other} {
		s.ReplaceSealKeys(ring)
		pools, foreign, err := s.ReadCodesAway(t.Context())
		require.NoError(t, err)
		require.Contains(t, pools, "spring", name)
		require.Equal(t, name == "other bytes", slices.Contains(foreign, "k1"), name)
		require.True(t, s.HasCodesAway(), name)
		code(t, draw.CodeSealKeyMissing, s.CodesAway("spring"))
		_, err = handOut(t, s, "spring", awards)
		code(t, draw.CodeSealKeyMissing, err)
		_, err = s.Claim(t.Context(), "spring", awards[0].DrawID, awards[0].UserID, 0, "test")
		code(t, draw.CodeSealKeyMissing, err)
		if name == "another id" {
			require.NoError(t, s.CodesAway("autumn"), "which has no code yet")
			continue // the other key may seal new codes
		}
		_, err = TryImportCodes(t, s, draw.CodeImport{PoolID: "autumn"}, []string{"x"})
		code(t, draw.CodeSealKeyMissing, err)
	}
	UseSealKeys(t, s, "k1")
	require.NoError(t, s.CheckKeys(t.Context()))
	require.NoError(t, s.CodesAway("spring"))
	codes, err := handOut(t, s, "spring", awards)
	require.NoError(t, err)
	require.Equal(t, lines[:1], codes)
}

// bytesOf returns bytes as a literal of the database's SQL.
func bytesOf(s *stock.Store, b []byte) string {
	if s.Engine().Migrations != goose.DialectPostgres {
		return fmt.Sprintf(`X'%x'`, b)
	}
	return fmt.Sprintf(`'\x%x'`, b)
}

// rulesBrokenBy returns the rules of the audit that the rows of a pool break.
func rulesBrokenBy(t *testing.T, s *stock.Store, poolID string) (rules []string) {
	t.Helper()
	audit, err := s.Audit(t.Context(), poolID)
	require.NoError(t, err)
	for _, v := range audit.Violations {
		require.NotContains(t, v.Detail, "AUDI", "no finding has a code")
		rules = append(rules, v.Rule)
	}
	return rules
}

// testCodesAudited: an audit finds units without codes, places without codes, codes that
// cannot be unsealed, and codes that occur twice.
func testCodesAudited(t *testing.T, s *stock.Store) {
	CodedPool(t, s, "spring")
	ImportCodes(t, s, "spring", CodeLines("AUDI", 6))
	NoViolations(t, s, "spring")
	kept := Keep(t, s, "spring")
	const ofCard = ` WHERE pool_id = 'spring' AND prize_id = 'card'`
	row := func(column string, place int) (value []byte) {
		query := fmt.Sprintf(`SELECT %s FROM codes%s AND place = %d`, column, ofCard, place)
		require.NoError(t, s.LockDB().QueryRowContext(t.Context(), query).Scan(&value))
		return value
	}
	put := func(place int, column string, value []byte) string {
		return fmt.Sprintf(`UPDATE codes SET %s = %s%s AND place = %d`, column, bytesOf(s, value), ofCard, place)
	}
	sealed := row("sealed", 2)
	for _, c := range []struct {
		rule       string
		statements []string
	}{
		{"codes-are-stock", []string{`DELETE FROM codes` + ofCard + ` AND place = 4`}},
		{"code-unsealed", []string{put(3, "sealed", []byte("0123456789012345678901234567890123456789"))}},
		{"code-double", []string{put(5, "sealed", sealed)}},
		{"code-double", []string{put(2, "sealed", row("sealed", 3)), put(3, "sealed", sealed), put(5, "sealed", sealed)}}, // both codes have a wrong digest
	} {
		ExecAll(t, s, c.statements)
		require.Contains(t, rulesBrokenBy(t, s, "spring"), c.rule, c.statements)
		kept.PutBack(t, s)
		NoViolations(t, s, "spring")
	}
	ExecAll(t, s, []string{`UPDATE code_heads SET places = 5` + ofCard})
	require.Contains(t, rulesBrokenBy(t, s, "spring"), "codes-are-stock")
}

// testCodesWithoutConstraint: an audit reports that the schema does not exclude equal
// codes, and also two equal codes whose digests are right.
func testCodesWithoutConstraint(t *testing.T, s *stock.Store) {
	CodedPool(t, s, "spring")
	ImportCodes(t, s, "spring", CodeLines("ONCE", 6))
	isUnique := func(want bool) {
		t.Helper()
		is, err := s.AreCodesUnique(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, is)
	}
	isUnique(true)
	ExecAll(t, s, []string{`ALTER TABLE codes RENAME TO codes_once`, `CREATE TABLE codes AS SELECT * FROM codes_once`})
	isUnique(false)
	require.Equal(t, []string{"code-double"}, rulesBrokenBy(t, s, "spring"))
	const of = ` WHERE pool_id = 'spring' AND prize_id = 'card' AND place = `
	ExecAll(t, s, []string{
		`DELETE FROM codes` + of + `5`,
		`INSERT INTO codes (pool_id, prize_id, place, digest, key_id, sealed) SELECT pool_id, prize_id, 5, digest, key_id, sealed FROM codes_once` + of + `2`,
	})
	a, err := s.Audit(t.Context(), "spring")
	require.NoError(t, err)
	require.Len(t, a.Violations, 2)
	require.Equal(t, "code-double", a.Violations[1].Rule)
	require.Contains(t, a.Violations[1].Detail, `places 2 of prize "card" and 5 of prize "card" have one digest`)
	ExecAll(t, s, []string{`DROP TABLE codes`, `ALTER TABLE codes_once RENAME TO codes`})
	isUnique(true)
	NoViolations(t, s, "spring")
}

// testCodesPublished: the public log of a committed pool contains the imported list and
// the dropped codes. Both verifiers read the log, and its seal equals the one in the
// change.
func testCodesPublished(t *testing.T, s *stock.Store) {
	s.Unseal(Identities(t))
	CodedPool(t, s, "p")
	paused, open := draw.StatePaused, draw.StateOpen
	change := func(state draw.State) {
		_, err := s.ChangePool(t.Context(), "p", draw.PoolChange{State: &state}, "test")
		require.NoError(t, err)
	}
	change(paused)
	require.NoError(t, Commit(t, s, "p", 2, 100))
	change(open)
	lines := CodeLines("PUBL", 4)
	done := ImportCodes(t, s, "p", lines)
	_, err := TryImportCodes(t, s, draw.CodeImport{PoolID: "p", Reserve: true}, CodeLines("PUBR", 3))
	require.NoError(t, err)
	_, err = s.DropCodes(t.Context(), "p", "card", 2, "test")
	require.NoError(t, err)
	p, err := s.Publishing(t.Context(), "p")
	require.NoError(t, err)
	all, err := p.Lines(t.Context(), 1, 1<<20)
	require.NoError(t, err)
	published := text(all.Lines)
	require.Contains(t, published, fmt.Sprintf(`"kind":"codes","prize":"card","count":4,"sha256":"%s"}`, sealOf(done.Seal.Salt, lines)))
	require.Contains(t, published, `"kind":"codes","prize":"card","dropped":2}`)
	require.NotContains(t, published, "PUB")
	for _, l := range all.Lines {
		_, err := proof.ParseLine(l.Text)
		require.NoError(t, err)
	}
	_, err = s.ExportProof(t.Context(), "p", io.Discard)
	require.NoError(t, err)
	proven(t, s)
}
