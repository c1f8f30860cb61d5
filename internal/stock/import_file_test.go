package stock_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// importFile returns a file with the given number of prizes.
func importFile(lines int) string {
	var file strings.Builder
	file.WriteString("prize,name,value,stock\n")
	for i := range lines {
		fmt.Fprintf(&file, "p%d,Prize number %d,1.50,%d\n", i, i, 1+i%7)
	}
	return file.String()
}

// TestImportIsFast imports new prizes, and then the same prizes again. The limit is
// generous, for a busy machine and the race detector: BenchmarkImport measures the speed.
func TestImportIsFast(t *testing.T) {
	const lines, limit = 2000, 30 * time.Second
	file := importFile(lines)
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := stocktest.New(t, dialect)
			stocktest.Pool(t, s, "spring", 10)
			for _, what := range []string{"new", "present"} {
				begun, calls := time.Now(), 0
				_, err := s.Import(t.Context(), draw.Import{PoolID: "spring", Reason: "delivery", Actor: "test"}, strings.NewReader(file),
					func(done, total int) { calls++; require.Equal(t, lines, total); require.Equal(t, 500*calls, done) })
				require.NoError(t, err)
				require.Equal(t, lines/500, calls)
				t.Logf("%d prizes, %s: %s", lines, what, time.Since(begun))
				require.Less(t, time.Since(begun), limit)
			}
			stocktest.NoViolations(t, s, "spring")
		})
	}
}

// BenchmarkImport imports a hundred thousand prizes: new ones, and then existing ones.
func BenchmarkImport(b *testing.B) {
	file := importFile(100_000)
	for _, dialect := range stock.Dialects() {
		s := stocktest.New(b, dialect)
		stocktest.Pool(b, s, "present", 10)
		n := 0
		run := func(name string, pool func(b *testing.B) string) {
			b.Run(dialect+"/"+name, func(b *testing.B) {
				for b.Loop() {
					_, err := s.Import(b.Context(), draw.Import{PoolID: pool(b), Reason: "delivery", Actor: "test"}, strings.NewReader(file), nil)
					require.NoError(b, err)
				}
			})
		}
		run("new", func(b *testing.B) string {
			n++
			id := fmt.Sprintf("new%d", n)
			stocktest.Pool(b, s, id, 10)
			return id
		})
		run("present", func(*testing.B) string { return "new1" })
	}
}

// FuzzImport imports random files. After an accepted file, the pool is intact and has the
// content of the file. A refused file changes nothing.
func FuzzImport(f *testing.F) {
	for _, seed := range []string{
		"", "prize,name,value,stock\n", "Stock;KIND;Name;Prize;Value;\n5;prize;Prize a;a;19.90;\n;;;;;\n", "\uFEFFprize,name,value,stock\r\na,Prize a,19.90,5\r\n",
		"prize,name,value,stock\nb,B,0.01,1000000000000\n\nc,C,,0", "prize,name,value,stock\na,,,999999999999\n",
		"prize,name,value,stock\nb,\"B\",1,1\n", "prize,name,value,stock\nb,B,1\x00,1\n", "prize,name,value,stock\nb,\xff,1,1\nb,B,1,1\nb,B,1,1",
	} {
		f.Add(seed)
	}
	s := stocktest.New(f, "sqlite")
	n := 0
	f.Fuzz(func(t *testing.T, text string) {
		n++
		id := fmt.Sprintf("pool%d", n)
		stocktest.Pool(t, s, id, 10)
		done, err := imported(t, s, id, text)
		p, poolErr := s.Pool(t.Context(), id)
		require.NoError(t, poolErr)
		if err != nil {
			require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "%v", err)
			require.Equal(t, int64(2), p.Version)
			return
		}
		units := int64(0)
		for _, prize := range p.Prizes {
			units += prize.Stocked
			if done.Encoding != draw.EncodingUTF16 {
				require.Contains(t, text, prize.ID)
			}
		}
		require.Equal(t, 10+done.Units, units)
		require.Equal(t, done.Version, p.Version)
		require.Len(t, p.Prizes, 1+done.Added)
		stocktest.NoViolations(t, s, id)
	})
}

// TestImportQuotes: files with the quotes that spreadsheets write can be imported.
func TestImportQuotes(t *testing.T) {
	s := stocktest.New(t, "sqlite")
	stocktest.Pool(t, s, "p")
	_, err := imported(t, s, "p", "prize,name,value,stock\n\"gold\",\"Coin, 24 \"\"carat\"\"\",19.90,\"10\"\r\nplain,Plain,,1\n")
	require.NoError(t, err)
	p, err := s.Pool(t.Context(), "p")
	require.NoError(t, err)
	require.Equal(t, [2]string{"gold", `Coin, 24 "carat"`}, [2]string{p.Prizes[0].ID, p.Prizes[0].Name})
	require.Equal(t, int64(10), p.Prizes[0].Stocked)
	require.Equal(t, "plain", p.Prizes[1].ID)
}

// TestImportTakesSpreadsheets: the same prizes are imported from each form in which a
// spreadsheet may write them.
func TestImportTakesSpreadsheets(t *testing.T) {
	t.Parallel()
	s := stocktest.New(t, "sqlite")
	for i, text := range []string{
		"prize,name,value,stock\ngold,Gold coin,19.9,7\ntin,Tin,,1\n",
		"\uFEFFPrize;Name;Value;Stock\r\ngold;Gold coin;19.90;7\r\ntin;Tin;;1\r\n",
		"STOCK;kind;value;PRIZE;name\n7;prize;19.9;gold;Gold coin\n1;;;tin;Tin",
		"\n\nprize, name, value, stock,,\n gold , \"Gold coin\", 19.9 ,7 ,,\n,,,,,\ntin,Tin,,1,,\n",
	} {
		id := fmt.Sprintf("pool%d", i)
		stocktest.Pool(t, s, id)
		done, err := imported(t, s, id, text)
		require.NoError(t, err, text)
		require.Equal(t, draw.Imported{Added: 2, Units: 8, Version: 3, Encoding: draw.EncodingUTF8}, done)
		p, err := s.Pool(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, "gold/Gold coin/19.9/7", fmt.Sprintf("%s/%s/%s/%d", p.Prizes[0].ID, p.Prizes[0].Name, p.Prizes[0].Value, p.Prizes[0].Stocked))
		require.Equal(t, "tin/Tin/0/1", fmt.Sprintf("%s/%s/%s/%d", p.Prizes[1].ID, p.Prizes[1].Name, p.Prizes[1].Value, p.Prizes[1].Stocked))
	}
}
