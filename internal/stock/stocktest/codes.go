package stocktest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
)

// cardOf reads the prize "card" of a pool, and the pool's version.
func cardOf(tb testing.TB, s *stock.Store, poolID string) (draw.Prize, int64) {
	tb.Helper()
	p, err := s.Pool(tb.Context(), poolID)
	require.NoError(tb, err)
	return p.Prizes[0], p.Version
}

// sealOf computes the seal in the same way as: (echo $salt; cat codes) | sha256sum.
func sealOf(salt string, lines []string) string {
	sum := sha256.Sum256([]byte(salt + "\n" + strings.Join(lines, "\n") + "\n"))
	return hex.EncodeToString(sum[:])
}

// awardCodes writes n awards of the next units of the prize "card".
func awardCodes(tb testing.TB, s *stock.Store, poolID string, n int) []draw.Award {
	tb.Helper()
	card, version := cardOf(tb, s, poolID)
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d-%d", poolID, version, i)
	}
	plan := Plan(poolID, version, "card", card.Issued, names...)
	require.NoError(tb, Write(tb, s, stock.TxOptions{}, plan))
	for i := range plan.Awards {
		plan.Awards[i].HasCode = true
	}
	return plan.Awards
}

// handOut returns the codes of awards.
func handOut(tb testing.TB, s *stock.Store, poolID string, awards []draw.Award) ([]string, error) {
	tb.Helper()
	d := draw.Draw{PoolID: poolID, Awards: slices.Clone(awards)}
	err := s.HandOut(tb.Context(), poolID, []*draw.Draw{&d})
	codes := make([]string, len(d.Awards))
	for i := range d.Awards {
		codes[i] = d.Awards[i].Code
	}
	return codes, err
}

// testCodes: codes are imported to places in the order of the file. They are stocked by
// one move, counted, handed out by unit, and dropped from the end of the reserve.
func testCodes(t *testing.T, s *stock.Store) {
	CodedPool(t, s, "spring")
	_, before := cardOf(t, s, "spring")
	lines := CodeLines("AAAA", 40)
	done := ImportCodes(t, s, "spring", lines)
	require.Equal(t, draw.ImportedCodes{Added: 40, Places: 40, Stocked: 40, Version: before + 2, Seal: done.Seal}, done)
	require.Len(t, done.Seal.Salt, 32)
	require.Equal(t, sealOf(done.Seal.Salt, lines), done.Seal.SHA256)
	entries, err := s.Log(t.Context(), "spring", before, 10)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Equal(t, draw.WhatCodes, entries[0].Change.What)
	require.Equal(t, fmt.Sprintf(`{"prize":"card","count":40,"sha256":"%s"}`, done.Seal.SHA256), entries[0].Change.Body)
	require.Equal(t, [2]any{int64(40), draw.ReasonCodes}, [2]any{entries[1].Move.Delta, entries[1].Move.Reason})

	reserve, err := TryImportCodes(t, s, draw.CodeImport{PoolID: "spring", Reserve: true}, CodeLines("BBBB", 10))
	require.NoError(t, err)
	require.Equal(t, [3]int64{50, 40, before + 3}, [3]int64{reserve.Places, reserve.Stocked, reserve.Version})
	awards := awardCodes(t, s, "spring", 7)
	codes, err := handOut(t, s, "spring", awards)
	require.NoError(t, err)
	require.Equal(t, lines[:7], codes)
	scattered := slices.Concat(awardCodes(t, s, "spring", 30)[25:], awards[:1])
	codes, err = handOut(t, s, "spring", scattered)
	require.NoError(t, err)
	require.Equal(t, append(slices.Clone(lines[32:37]), lines[0]), codes)

	counts, err := s.CodeCounts(t.Context(), "spring", "card")
	require.NoError(t, err)
	require.Equal(t, draw.CodeCounts{Places: 50, Stocked: 40, Issued: 37, Keys: map[string]int64{"k1": 50}}, counts)
	_, err = s.DropCodes(t.Context(), "spring", "card", 11, "test")
	code(t, draw.CodeCodesMissing, err)
	counts, err = s.DropCodes(t.Context(), "spring", "card", 4, "test")
	require.NoError(t, err)
	require.Equal(t, draw.CodeCounts{Places: 46, Stocked: 40, Issued: 37, Keys: map[string]int64{"k1": 46}}, counts)
	again := ImportCodes(t, s, "spring", CodeLines("BBBB", 10)[6:])
	require.Equal(t, int64(4), again.Added, "what was dropped is free")
	var exported []string
	require.NoError(t, s.EachCode(t.Context(), "spring", true, func(g *draw.GivenCode) error {
		require.NotZero(t, g.Version)
		exported = append(exported, g.Code)
		return nil
	}))
	require.Equal(t, lines[:37], exported)
	NoViolations(t, s, "spring")
}

// badFiles returns files that cannot be imported, each with the text of its error.
func badFiles() map[string]string {
	many := ""
	for range 13 {
		many += "a;b\n"
	}
	return map[string]string{
		"":                       "the file has no code",
		"code\n":                 "the file has no code",
		"\ufeffcode\r\n":         "the file has no code",
		"a1\na2,x\n":             "line 2: a comma; give one column",
		"a1\na2;x\n":             "line 2: a semicolon; give one column",
		"\"a1\"\n":               "line 1: a quote; give the code without quotes",
		"a1\n\na2\n":             "line 2: empty",
		"a1\n\n\n":               "line 2: empty",
		"\r\n":                   "the file has no code",
		" a1\n":                  "line 1: a blank at an end",
		"a1 \n":                  "line 1: a blank at an end",
		"a\t1\n":                 "line 1: a character that is not printable ASCII",
		"ä1\n":                   "line 1: a character that is not printable ASCII",
		"a\xff\n":                "line 1: not UTF-8",
		strings.Repeat("x", 257): "line 1: longer than 256 characters",
		"a1\nb1\na1\n":           "line 3: the same as line 1",
		"free\nTAKEN-000002\n":   `line 2: pool "spring", prize "card" has it`,
		many:                     "line 10: a semicolon; give one column; and 3 more; nothing was imported",
	}
}

// testCodesAreWhole: a bad file writes nothing and names its lines, never a code.
func testCodesAreWhole(t *testing.T, s *stock.Store) {
	CodedPool(t, s, "spring")
	CodedPool(t, s, "autumn")
	ImportCodes(t, s, "spring", CodeLines("TAKEN", 3))
	_, before := cardOf(t, s, "autumn")
	wanted := draw.CodeImport{PoolID: "autumn", PrizeID: "card", Actor: "test"}
	for file, want := range badFiles() {
		_, err := s.ImportCodes(t.Context(), wanted, strings.NewReader(file), nil)
		code(t, draw.CodeInvalidRequest, err)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "TAKEN")
	}
	for _, file := range []string{"\ufeffcode\r\nPIN 0042 17\r\nok\r\n", "PIN 0042 17\nok", "PIN 0042 17\nok\n\n", "PIN 0042 17\r\nok\r\n\r\n"} { // all of these contain the same list
		dry := wanted
		dry.DryRun = true
		done, err := s.ImportCodes(t.Context(), dry, strings.NewReader(file), nil)
		require.NoError(t, err)
		require.Equal(t, draw.ImportedCodes{Added: 2, Places: 2, Stocked: 2, Version: before + 2}, done)
	}
	card, version := cardOf(t, s, "autumn")
	require.Equal(t, before, version)
	require.Zero(t, card.Places)

	skipped, err := TryImportCodes(t, s, draw.CodeImport{PoolID: "autumn", Skip: true}, []string{"x", "TAKEN-000001", "y", "x", "TAKEN-000003"})
	require.NoError(t, err)
	require.Equal(t, [2]int64{2, 3}, [2]int64{skipped.Added, skipped.Skipped})
	require.Equal(t, sealOf(skipped.Seal.Salt, []string{"x", "y"}), skipped.Seal.SHA256)
	none, err := TryImportCodes(t, s, draw.CodeImport{PoolID: "autumn", Skip: true}, []string{"x"})
	require.NoError(t, err)
	require.Equal(t, [3]int64{0, 1, skipped.Version}, [3]int64{none.Added, none.Skipped, none.Version})

	_, err = s.AddPrize(t.Context(), "autumn", draw.Prize{ID: "plain", Name: "Plain", Stocked: 1}, "test")
	require.NoError(t, err)
	_, err = s.AddPrize(t.Context(), "autumn", draw.Prize{ID: "none", Name: "None", Kind: draw.KindBlank, Stocked: 1}, "test")
	require.NoError(t, err)
	for prize, want := range map[string]draw.Code{"plain": draw.CodePrizeHasNoCodes, "none": draw.CodeInvalidRequest, "nothing": draw.CodePrizeNotFound} {
		_, err := s.ImportCodes(t.Context(), draw.CodeImport{PoolID: "autumn", PrizeID: prize, Actor: "test"}, strings.NewReader("z\n"), nil)
		code(t, want, err)
		_, err = s.CodeCounts(t.Context(), "autumn", prize)
		code(t, want, err)
	}
	for _, p := range []draw.Prize{{ID: "b", Name: "b", HasCodes: true, Kind: draw.KindBlank}, {ID: "c", Name: "c", HasCodes: true, Stocked: 1}} {
		_, err := s.AddPrize(t.Context(), "autumn", p, "test")
		code(t, draw.CodeInvalidRequest, err)
	}
	closed := draw.StateClosed
	_, err = s.ChangePool(t.Context(), "autumn", draw.PoolChange{State: &closed}, "test")
	require.NoError(t, err)
	_, err = TryImportCodes(t, s, draw.CodeImport{PoolID: "autumn", Reserve: true}, []string{"late"})
	code(t, draw.CodePoolClosed, err)
	_, err = s.DropCodes(t.Context(), "autumn", "card", 1, "test")
	code(t, draw.CodePoolClosed, err)
	require.NoError(t, s.DeletePool(t.Context(), "autumn", nil, "test"))
	CodedPool(t, s, "winter")
	ImportCodes(t, s, "winter", []string{"x", "y"}) // codes may be imported again after their pool is deleted
}

// errCutOff interrupts an import between two parts.
var errCutOff = errors.New("cut off")

// testCodesAreOnce: an import with a key happens once. An interrupted import continues
// where it stopped, and then has the same seal as an uninterrupted one.
func testCodesAreOnce(t *testing.T, s *stock.Store) {
	CodedPool(t, s, "spring")
	lines := CodeLines("ONCE", 12_000)
	wanted := draw.CodeImport{PoolID: "spring", PrizeID: "card", Actor: "test", Key: "delivery 1"}
	file := func() *strings.Reader { return strings.NewReader(strings.Join(lines, "\n") + "\n") }
	for cut := range 2 {
		func() {
			defer func() { require.Equal(t, errCutOff, recover()) }()
			_, _ = s.ImportCodes(t.Context(), wanted, file(), func(done, total int) {
				require.Equal(t, len(lines), total)
				require.Equal(t, 5000*(cut+1), done)
				panic(errCutOff) // between two parts, as if the process was killed
			})
		}()
		card, _ := cardOf(t, s, "spring")
		require.Equal(t, [2]int64{int64(5000 * (cut + 1)), 0}, [2]int64{card.Places, card.Stocked}, "what is written is in the reserve")
	}
	_, err := TryImportCodes(t, s, draw.CodeImport{PoolID: "spring", Key: "delivery 1"}, lines[:10])
	code(t, draw.CodeKeyReused, err)
	_, err = TryImportCodes(t, s, draw.CodeImport{PoolID: "spring"}, lines[:10])
	code(t, draw.CodeInvalidRequest, err)
	done, err := s.ImportCodes(t.Context(), wanted, file(), nil)
	require.NoError(t, err)
	require.Equal(t, [4]int64{12_000, 0, 12_000, 12_000}, [4]int64{done.Added, done.Skipped, done.Places, done.Stocked})
	require.Equal(t, sealOf(done.Seal.Salt, lines), done.Seal.SHA256)
	again, err := s.ImportCodes(t.Context(), wanted, file(), nil)
	require.NoError(t, err)
	require.True(t, again.Replayed)
	again.Replayed = false
	require.Equal(t, done, again)
	_, version := cardOf(t, s, "spring")
	require.Equal(t, done.Version, version)
	codes, err := handOut(t, s, "spring", awardCodes(t, s, "spring", 3))
	require.NoError(t, err)
	require.Equal(t, lines[:3], codes)
	NoViolations(t, s, "spring")
}

// testCodesMeet: two simultaneous imports of one file import each code once, in either
// order, with and without a key.
func testCodesMeet(t *testing.T, s *stock.Store) {
	CodedPool(t, s, "spring")
	lines := CodeLines("MEET", 600)
	var keyed errgroup.Group
	for range 4 {
		keyed.Go(func() error {
			_, err := TryImportCodes(t, s, draw.CodeImport{PoolID: "spring", Key: "same"}, lines)
			return err
		})
	}
	require.NoError(t, keyed.Wait())
	card, _ := cardOf(t, s, "spring")
	require.Equal(t, [2]int64{600, 600}, [2]int64{card.Places, card.Stocked})

	lines = CodeLines("FREE", 600)
	results := make(chan error, 4)
	for range 4 {
		go func() {
			_, err := TryImportCodes(t, s, draw.CodeImport{PoolID: "spring"}, lines)
			results <- err
		}()
	}
	good := 0
	for range 4 {
		err := <-results
		if err == nil {
			good++
			continue
		}
		code(t, draw.CodeInvalidRequest, err)
		require.NotContains(t, err.Error(), "FREE")
	}
	require.Equal(t, 1, good)
	card, _ = cardOf(t, s, "spring")
	require.Equal(t, [2]int64{1200, 1200}, [2]int64{card.Places, card.Stocked})
	NoViolations(t, s, "spring")
}

// testCodesAreStock: whatever act moves its stock, a prize never has more units than
// codes. Random acts are compared with a model.
func testCodesAreStock(t *testing.T, s *stock.Store) {
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		if runs++; runs > 8 {
			return // each act is a transaction
		}
		pool := fmt.Sprintf("pool-%d", runs)
		CodedPool(t, s, pool)
		var places, stocked, issued int64
		for step := range rapid.IntRange(4, 14).Draw(rt, "steps") {
			n := int64(rapid.IntRange(1, 5).Draw(rt, "n"))
			want := draw.Code("")
			var err error
			switch rapid.IntRange(0, 5).Draw(rt, "act") {
			case 0:
				_, err = TryImportCodes(t, s, draw.CodeImport{PoolID: pool, Reserve: true}, CodeLines(fmt.Sprint(pool, step), int(n)))
				places += n
			case 1:
				_, err = TryImportCodes(t, s, draw.CodeImport{PoolID: pool}, CodeLines(fmt.Sprint(pool, step), int(n)))
				places, stocked = places+n, stocked+n
			case 2:
				if stocked+n > places {
					want = draw.CodeCodesMissing
				}
				_, err = s.Stock(t.Context(), draw.Stocking{PoolID: pool, PrizeID: "card", Delta: n, Reason: "more"}, "test")
				if want == "" {
					stocked += n
				}
			case 3:
				if stocked-n < issued {
					want = draw.CodeStockBelowIssued
				}
				_, err = s.Stock(t.Context(), draw.Stocking{PoolID: pool, PrizeID: "card", Delta: -n, Reason: "less"}, "test")
				if want == "" {
					stocked -= n
				}
			case 4:
				if places-n < stocked {
					want = draw.CodeCodesMissing
				}
				_, err = s.DropCodes(t.Context(), pool, "card", n, "test")
				if want == "" {
					places -= n
				}
			case 5:
				if n = min(n, stocked-issued); n > 0 {
					awardCodes(t, s, pool, int(n))
					issued += n
				}
			}
			require.Equal(t, want, draw.CodeOf(err), "%v", err)
			card, _ := cardOf(t, s, pool)
			require.Equal(t, [4]int64{places, stocked, issued, places - stocked}, [4]int64{card.Places, card.Stocked, card.Issued, card.Reserve()})
		}
		NoViolations(t, s, pool)
	})
	raceForReserve(t, s)
	CodedPool(t, s, "filed")
	ImportCodes(t, s, "filed", CodeLines("FILED", 2))
	_, err := s.Import(t.Context(), draw.Import{PoolID: "filed", Reason: "delivery", Actor: "test"}, strings.NewReader("prize,name,value,stock\ncard,,,1\n"), nil)
	code(t, draw.CodeCodesMissing, err)
}

// raceForReserve: if several moves come at once, as many succeed as the reserve has
// codes.
func raceForReserve(t *testing.T, s *stock.Store) {
	t.Helper()
	const reserve, moves = 3, 8
	CodedPool(t, s, "raced")
	_, err := TryImportCodes(t, s, draw.CodeImport{PoolID: "raced", Reserve: true}, CodeLines("RACED", reserve))
	require.NoError(t, err)
	results := make(chan error, moves)
	for range moves {
		go func() {
			_, err := s.Stock(t.Context(), draw.Stocking{PoolID: "raced", PrizeID: "card", Delta: 1, Reason: "more"}, "test")
			results <- err
		}()
	}
	counts := map[draw.Code]int{}
	for range moves {
		counts[draw.CodeOf(<-results)]++
	}
	require.Equal(t, map[draw.Code]int{"": reserve, draw.CodeCodesMissing: moves - reserve}, counts)
	NoViolations(t, s, "raced")
}
