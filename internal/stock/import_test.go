package stock_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// imported imports text into the pool.
func imported(t *testing.T, s *stock.Store, poolID, text string) (draw.Imported, error) {
	t.Helper()
	return s.Import(t.Context(), draw.Import{PoolID: poolID, Reason: "delivery", Actor: "test"}, strings.NewReader(text), nil)
}

// refusedImport imports text, which must be refused and change nothing, and returns the
// error.
func refusedImport(t *testing.T, s *stock.Store, poolID, text string) string {
	t.Helper()
	before, err := s.Pool(t.Context(), poolID)
	require.NoError(t, err)
	_, err = imported(t, s, poolID, text)
	require.Error(t, err)
	require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "%v", err)
	after, err := s.Pool(t.Context(), poolID)
	require.NoError(t, err)
	require.Equal(t, before, after, "a refused import changed the pool")
	refusal, _ := errors.AsType[*draw.Error](func() error { _, err := imported(t, s, poolID, text); return err }())
	return refusal.Detail
}

func TestImport(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			testImport(t, stocktest.New(t, dialect))
		})
	}
}

func testImport(t *testing.T, s *stock.Store) {
	stocktest.Pool(t, s, "spring", 10, 20)
	require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, stocktest.Plan("spring", 3, "a", 0, "d1", "d2", "d3")))
	urn := urn.NewUrn("spring")
	before, err := s.Read(t.Context(), urn, stock.TxOptions{})
	require.NoError(t, err)
	before.Rollback()
	require.Equal(t, 2, urn.Prizes())

	done, err := imported(t, s, "spring", "\uFEFFprize,name,value,stock\r\n"+
		"gold,Gold coin – größte,19.9,7\r\n"+ // new
		"a,,,5\r\n"+ // exists; named only by its id
		"\r\n"+
		"b,Prize b,19.90,0\r\n"+ // exists; adds nothing
		"empty,Empty,,0") // new, without stock; the last line has no line end
	require.NoError(t, err)
	require.Equal(t, draw.Imported{Added: 2, Restocked: 1, Units: 12, Version: 9, Encoding: draw.EncodingUTF8}, done)

	p, err := s.Pool(t.Context(), "spring")
	require.NoError(t, err)
	var table []string
	for _, z := range p.Prizes {
		table = append(table, fmt.Sprintf("%s,%s,%s,%d,%d", z.ID, z.Name, z.Value.StringFixed(2), z.Stocked, z.Issued))
	}
	require.Equal(t, []string{"a,Prize a,19.90,15,3", "b,Prize b,19.90,20,0", "gold,Gold coin – größte,19.90,7,0", "empty,Empty,0.00,0,0"}, table)
	require.Equal(t, int64(9), p.Version)

	moves, err := s.Moves(t.Context(), "spring", 6, 10)
	require.NoError(t, err)
	require.Len(t, moves, 3)
	require.Equal(t, "a", moves[1].PrizeID)
	require.Equal(t, []int64{8, 5, 15, 3}, []int64{moves[1].Version, moves[1].Delta, moves[1].Stocked, moves[1].Issued})
	require.Equal(t, "delivery", moves[1].Reason)
	stocktest.NoViolations(t, s, "spring")

	// An urn that was read before the import gets the new prizes.
	tx, err := s.Read(t.Context(), urn, stock.TxOptions{})
	require.NoError(t, err)
	tx.Rollback()
	require.Equal(t, 4, urn.Prizes())
	require.Equal(t, int64(12+20+7), urn.Remaining())

	_, err = imported(t, s, "summer", "prize,name,value,stock\n")
	require.Equal(t, draw.CodePoolNotFound, draw.CodeOf(err))
	done, err = imported(t, s, "spring", "prize,name,value,stock\n")
	require.NoError(t, err, "a file may be empty")
	require.Equal(t, draw.Imported{Version: 9, Encoding: draw.EncodingUTF8}, done)
}

func TestImportAgainstThePool(t *testing.T) {
	s := stocktest.New(t, "sqlite")
	stocktest.Pool(t, s, "spring", 10)
	for wrong, want := range map[string]string{
		"a,Another,,1":                  `line 3: prize "a" has the name "Prize a" in the pool; nothing was imported`,
		"a,,19.91,1":                    `line 3: prize "a" has the value 19.90 in the pool; nothing was imported`,
		"a,,0,1":                        `line 3: prize "a" has the value 19.90 in the pool; nothing was imported`,
		"b,,,1":                         `line 3: prize "b" is new and needs a name; nothing was imported`,
		"a,,,1000000000000":             `line 3: the stock of prize "a" would be above 1000000000000; nothing was imported`,
		"b,,,1\nc,C,,1\na,A,,1\nd,,2,1": `line 3: prize "b" is new and needs a name; line 5: prize "a" has the name "Prize a" in the pool; line 6: prize "d" is new and needs a name; nothing was imported`,
	} {
		require.Equal(t, want, refusedImport(t, s, "spring", "prize,name,value,stock\nz,Z,1,1\n"+wrong), wrong)
	}
}

func TestImportRefusesBadFiles(t *testing.T) {
	s := stocktest.New(t, "sqlite")
	stocktest.Pool(t, s, "spring", 10)
	const header = "prize,name,value,stock\n"
	const headerText = "line 1: must be the header prize,name,value,stock[,kind], in any order, separated by commas, semicolons or tabs; "
	const noHeader = "line 1: must be the header prize,name,value,stock[,kind]; nothing was imported"
	const badQuote = "line 2: has a quote that is not closed, or that stands inside a field; write a quote within quotes twice; nothing was imported"
	const badValue = `line 2: value must be an amount such as "19.90", 0 to 999999999999.99, with a point before the cents and no other mark, not `
	const badStock = "line 2: stock must be a whole number from 0 to 1000000000000, only digits, not "
	for text, want := range map[string]string{
		"":                                          noHeader,
		"\n\n":                                      noHeader,
		"a,A,1,1\n":                                 headerText + `it has the column "a"; nothing was imported`,
		"prize,name,stock\n":                        headerText + "it lacks the column value; nothing was imported",
		"prize\tname\tvalue\n":                      headerText + "it lacks the column stock; nothing was imported",
		"prize,Prize,name\n":                        `line 1: has the column prize twice: "prize" and "Prize"; nothing was imported`,
		"\uFEFF\uFEFF" + header:                     headerText + `it has the column "\ufeffprize"; nothing was imported`,
		"\xFF\xFEp\x00r\x00":                        headerText + `it has the column "pr"; nothing was imported`,
		header + "b,B,1":                            "line 2: has 3 columns instead of 4; quote a field that holds the separator; nothing was imported",
		header + "b,B,1,1,x":                        "line 2: has 5 columns instead of 4; quote a field that holds the separator; nothing was imported",
		header + "b,\"B,1,1":                        badQuote,
		header + "b,B \"x\",1,1":                    badQuote,
		header + "b,B\x00,1,1":                      "line 2: holds a NUL byte; save the file as CSV UTF-8; nothing was imported",
		header + "b,B\x81,1,1":                      "line 2: is neither UTF-8 nor Windows-1252 text; save the file as CSV UTF-8; nothing was imported",
		header + "b,B\u200b,1,1":                    "line 2: prize name holds a character that is not printable; nothing was imported",
		header + "b,B\rc,1,1":                       "line 2: prize name holds a character that is not printable; nothing was imported",
		header + "b,\"B\nc\",1,1":                   "line 2: prize name holds a character that is not printable; nothing was imported",
		header + ",B,1,1":                           "line 2: prize id is missing; nothing was imported",
		header + "B,B,1,1":                          `line 2: prize id must match [a-z0-9][a-z0-9._-]{0,63}, not "B"; nothing was imported`,
		header + "b,B,-1,1":                         badValue + `"-1"; nothing was imported`,
		header + "b,B,1.999,1":                      badValue + `"1.999"; nothing was imported`,
		"stock;value;name;prize\n1;19,9x;B;b":       strings.Replace(badValue, "a point", "a comma or a point", 1) + `"19,9x"; nothing was imported`,
		header + `b,B,"1,900.00",1`:                 badValue + `"1,900.00"; nothing was imported`,
		header + "b,B,1,":                           "line 2: stock is missing: give a number of units, 0 for none, or the kind blank for a losing ticket without end; nothing was imported",
		header + "b,B,1,-1":                         badStock + `"-1"; nothing was imported`,
		header + "b,B,1,+1":                         badStock + `"+1"; nothing was imported`,
		header + "b,B,1,1.5":                        badStock + `"1.5"; nothing was imported`,
		header + "b,B,1,1000000000001":              badStock + `"1000000000001"; nothing was imported`,
		header + "b,B,1," + strings.Repeat("9", 50): badStock + `"` + strings.Repeat("9", 40) + `…"; nothing was imported`,
		header + "b,B,1,1\n\nc,C,1,1\nb,B,1,1":      `line 5: prize id "b" is on line 2 already; nothing was imported`,
		header + "b," + strings.Repeat("x", 201) + ",1,1": "line 2: prize name is longer than 200 characters; nothing was imported",
		"prize,name,value,stock,kind\nb,B,1,1,code\n":     `line 2: kind must be prize, blank or empty, not "code"; nothing was imported`,
		"prize,name,value,stock,kind\nb,B,1,1,blank\n":    `line 2: value of blank "b" must be 0; nothing was imported`,
	} {
		require.Equal(t, want, refusedImport(t, s, "spring", text), "%.60q", text)
	}
	_, err := imported(t, s, "spring", header+"b,"+strings.Repeat("ü", 200)+",999999999999.99,1000000000000\n")
	require.NoError(t, err, "every field at its longest")

	broken := io.MultiReader(strings.NewReader(header+"c,C,1,1\n"), iotest.ErrReader(iotest.ErrTimeout))
	_, err = s.Import(t.Context(), draw.Import{PoolID: "spring", Reason: "x", Actor: "test"}, broken, nil)
	require.ErrorIs(t, err, iotest.ErrTimeout)
	_, err = s.Import(t.Context(), draw.Import{PoolID: "spring", Actor: "test"}, strings.NewReader(header), nil)
	require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "the reason is missing")
}

func TestImportTellsTheFirstBadLines(t *testing.T) {
	s := stocktest.New(t, "sqlite")
	stocktest.Pool(t, s, "spring", 10)
	var file strings.Builder
	file.WriteString("prize,name,value,stock\n")
	for i := 2; i <= 1000; i++ {
		stocked := "1"
		if i == 900 {
			stocked = "many"
		}
		fmt.Fprintf(&file, "p%d,Prize,1,%s\n", i, stocked)
	}
	require.Equal(t, "line 900: stock must be a whole number from 0 to 1000000000000, only digits, not \"many\"; nothing was imported", refusedImport(t, s, "spring", file.String()))

	many := "prize,name,value,stock\n" + strings.Repeat("x\n", 1000)
	detail := refusedImport(t, s, "spring", many)
	require.True(t, strings.HasPrefix(detail, "line 2: has 1 columns instead of 4; quote a field that holds the separator; line 3: "), detail)
	require.True(t, strings.HasSuffix(detail, "; line 11: has 1 columns instead of 4; quote a field that holds the separator; and 990 more; the lines after that were not read; nothing was imported"), detail)

	// One error names the bad lines of the file and those that do not fit the pool.
	require.Equal(t, `line 2: prize "a" has the name "Prize a" in the pool; line 3: stock must be a whole number from 0 to 1000000000000, only digits, not "x"; `+
		`line 4: prize "c" is new and needs a name; nothing was imported`, refusedImport(t, s, "spring", "prize,name,value,stock\na,A,,1\nb,B,1,x\nc,,1,1\n"))

	// The same for lines that are far apart.
	file.Reset()
	file.WriteString("prize,name,value,stock\n")
	for i := 2; i <= 3000; i++ {
		name := "Prize"
		if i == 700 || i == 2900 {
			name = ""
		}
		fmt.Fprintf(&file, "p%d,%s,1,1\n", i, name)
	}
	require.Equal(t, `line 700: prize "p700" is new and needs a name; line 2900: prize "p2900" is new and needs a name; nothing was imported`,
		refusedImport(t, s, "spring", file.String()))
}

// counted counts the bytes that were read from a file.
type counted struct {
	io.Reader
	n int
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += n
	return n, err
}

// TestImportEndsEarly: a file is read only up to its thousandth bad line. For callers
// that may stock only existing prizes, it is read only up to the first new prize. The
// broken double reads the whole file before it checks.
func TestImportEndsEarly(t *testing.T) {
	s := stocktest.New(t, "sqlite")
	stocktest.Pool(t, s, "spring", 10)
	const header, most = "prize,name,value,stock\n", 64 << 10
	for about, c := range map[string]struct {
		file        string
		presentOnly bool
		code        draw.Code
		detail      string
	}{
		"bad lines":   {"x\n", false, draw.CodeInvalidRequest, "line 11: has 1 columns"},
		"no CSV":      {"a,\"b\"c,1,1\n", false, draw.CodeInvalidRequest, "line 11: has a quote"},
		"new":         {"new,New,1,1\n", true, draw.CodeForbidden, `line 2: prize "new" is new to the pool`},
		"no text":     {"a,\x81,1,1\n", false, draw.CodeInvalidRequest, "line 11: is neither UTF-8"},
		"twice there": {"a,,,1\n", true, draw.CodeInvalidRequest, `line 12: prize id "a" is on line 2 already`},
	} {
		file := &counted{Reader: strings.NewReader(header + strings.Repeat(c.file, 1<<20/len(c.file)))}
		w := draw.Import{PoolID: "spring", Reason: "delivery", Actor: "test", PresentOnly: c.presentOnly, DryRun: true}
		_, err := s.Import(t.Context(), w, file, nil)
		require.Equal(t, c.code, draw.CodeOf(err), about)
		require.Contains(t, draw.DetailOf(err), c.detail, about)
		require.Less(t, file.n, most, about)
	}
	double := &counted{Reader: strings.NewReader(header + strings.Repeat("x\n", 1<<19))}
	_, err := io.ReadAll(double)
	require.NoError(t, err)
	require.Greater(t, double.n, most)
}
