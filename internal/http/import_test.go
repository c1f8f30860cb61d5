package http

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/access"
	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
	"drawsvc/internal/prizefile"
)

// importAsked is the import that a fake store was requested to make.
type importAsked struct {
	draw.Import
	file string
}

func (f fakeStore) Import(_ context.Context, w draw.Import, file io.Reader, _ func(done, total int)) (draw.Imported, error) {
	text, err := io.ReadAll(file)
	if err != nil {
		return draw.Imported{}, err
	}
	done := draw.Imported{Added: 1, Restocked: 2, Units: 30, Version: 9, Replayed: w.Key == "again", Encoding: draw.EncodingWindows1252}
	if w.DryRun {
		done.Value, done.StockValue = decimal.New(9950, -2), decimal.New(1000, 0)
		done.Preview = []draw.ImportedPrize{{PrizeID: "gold", Name: "Gold", Value: decimal.New(199, -1), IsNew: true, Delta: 5, Stocked: 5}}
	}
	return done, f.note(importAsked{w, string(text)})
}

const importPath = "/admin/pools/p/import"

func importCall(target, body string, headers ...string) *nethttp.Request {
	return asAdmin("POST", target, body, append([]string{"Content-Type", "text/csv"}, headers...)...)
}

func TestImport(t *testing.T) {
	t.Parallel()
	f := &fake{}
	s := newServer(t, f)
	w := do(s, importCall(importPath, "the file"))
	require.Equal(t, 200, w.Code, w.Body)
	require.JSONEq(t, `{"pool":"p","dry_run":false,"added":1,"restocked":2,"units":30,"version":9,"replayed":false,"encoding":"windows-1252"}`, w.Body.String())
	require.Equal(t, importAsked{draw.Import{PoolID: "p", Reason: "import", Actor: "admin"}, "the file"}, f.last())

	w = do(s, importCall(importPath+"?dry_run=true&reason=delivery", "x", "Content-Type", "text/csv; charset=UTF-8; header=present"))
	require.JSONEq(t, `{"pool":"p","dry_run":true,"added":1,"restocked":2,"units":30,"version":9,"replayed":false,"encoding":"windows-1252",
		"value":"99.50","stock_value":"1000.00","prizes":[{"id":"gold","name":"Gold","value":"19.90","new":true,"delta":5,"stocked":5}]}`, w.Body.String())
	require.Equal(t, importAsked{draw.Import{PoolID: "p", Reason: "delivery", Actor: "admin", DryRun: true}, "x"}, f.last())

	w = do(s, importCall(importPath, "x", "Idempotency-Key", `"again"`))
	require.Equal(t, "true", w.Header().Get("Idempotent-Replayed"))
	require.Contains(t, w.Body.String(), `"replayed":true`)

	const stockToken = "stock-token-of-the-warehouse"
	w = do(newServer(t, f, func(c *Config) {
		c.Tokens = keep(adminEntry(), access.Token{Name: "warehouse", Role: access.Stock, Digest: access.DigestOf(stockToken)})
	}), request("POST", importPath, "x", "Content-Type", "text/csv", "Authorization", "Bearer "+stockToken))
	require.Equal(t, 200, w.Code, w.Body)
	require.Equal(t, importAsked{draw.Import{PoolID: "p", Reason: "import", Actor: "warehouse", PresentOnly: true}, "x"}, f.last())

	large := strings.Repeat("x", api.FileMax)
	require.Equal(t, 200, do(s, importCall(importPath, large)).Code)
	require.Len(t, f.last().(importAsked).file, api.FileMax)
}

// heldImports are imports that wait until they are released.
type heldImports struct {
	fakeStore
	begun, letGo chan struct{}
}

func (h heldImports) Import(ctx context.Context, w draw.Import, file io.Reader, progress func(done, total int)) (draw.Imported, error) {
	h.begun <- struct{}{}
	<-h.letGo
	return h.fakeStore.Import(ctx, w, file, progress)
}

// TestImportsAreBounded: only one import of each rank runs at a time; a dry run counts
// too. The next import of role stock is refused; the next import of an admin waits.
func TestImportsAreBounded(t *testing.T) {
	t.Parallel()
	f := &fake{}
	h := heldImports{fakeStore{f}, make(chan struct{}), make(chan struct{})}
	s := newServer(t, f, ofEveryRole, func(c *Config) { c.Store = h })
	ask := func(of role, query string) int {
		return do(s, request("POST", importPath+query, "x", "Content-Type", "text/csv", "Authorization", "Bearer "+string(of))).Code
	}
	first, second := make(chan int), make(chan int)
	go func() { first <- ask(roleStock, "?dry_run=true") }()
	<-h.begun
	require.Equal(t, 503, ask(roleStock, "?dry_run=true"))
	require.Equal(t, 503, ask(roleStock, ""))
	go func() { second <- ask(roleAdmin, "") }()
	<-h.begun // it waits for nobody of a lower rank
	require.Equal(t, 503, ask(roleAdmin, ""))
	for range 2 {
		h.letGo <- struct{}{}
	}
	require.Equal(t, 200, <-first)
	require.Equal(t, 200, <-second)

	go func() { first <- ask(roleAdmin, "") }()
	<-h.begun
	go func() { second <- ask(roleAdmin, "") }()
	require.Eventually(t, func() bool {
		done, ok := s.bounds.Imports.Try(gate.RankAdmin, 1)
		if ok {
			done()
		}
		return !ok
	}, 20*time.Second, time.Millisecond, "it waits")
	select {
	case <-h.begun:
		require.Fail(t, "two of a rank are at work")
	default:
	}
	h.letGo <- struct{}{}
	require.Equal(t, 200, <-first)
	<-h.begun
	h.letGo <- struct{}{}
	require.Equal(t, 200, <-second)
}

// TestImportRejects: invalid requests are refused before the store is asked.
func TestImportRejects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call   *nethttp.Request
		status int
		detail string
	}{
		{importCall(importPath, strings.Repeat("x", api.FileMax+1)), 413, "the body is larger than 8388608 bytes"},
		{asAdmin("POST", importPath, "{}"), 415, "Content-Type must be text/csv, in UTF-8"},
		{importCall(importPath, "x", "Content-Type", "text/csv; charset=latin1"), 415, "Content-Type must be text/csv, in UTF-8"},
		{importCall(importPath, "x", "Content-Encoding", "gzip"), 415, "the body must not be encoded"},
		{importCall(importPath+"?dry_run=1", "x"), 400, "dry_run must be one of false, true"},
		{importCall(importPath+"?reason=", "x"), 400, "reason is missing or empty"},
		{importCall(importPath+"?dryrun=true", "x"), 400, `unknown query parameter \"dryrun\"`},
		{importCall(importPath, "x", "Idempotency-Key", ""), 400, "Idempotency-Key must have 1 to 128 characters"},
		{request("POST", importPath, "x", "Content-Type", "text/csv"), 401, ""},
	} {
		f := &fake{}
		w := do(newServer(t, f), c.call)
		require.Equal(t, c.status, w.Code, w.Body)
		require.Contains(t, w.Body.String(), c.detail)
		require.Empty(t, f.asked)
	}
	f := &fake{err: draw.Errorf(draw.CodeInvalidRequest, "line 2: stock; nothing was imported")}
	w := do(newServer(t, f), importCall(importPath, "x"))
	require.Equal(t, 400, w.Code)
	require.Contains(t, w.Body.String(), "line 2: stock; nothing was imported")
}

// TestExportsEscapeFormulas: on request, callers' texts are escaped so that they are
// not formulas; by default an export is exact.
func TestExportsEscapeFormulas(t *testing.T) {
	t.Parallel()
	a := award(`=HYPERLINK("x")`, "@user")
	a.PrizeName = "\uff1dcmd"
	s := newServer(t, &fake{awards: []draw.Award{{Version: 1, DrawID: "-1", UserID: "+1", PrizeID: "gold", PrizeName: "Gold=", At: at}, a}})
	get := func(target string) string {
		w := do(s, asAdmin("GET", target, "", "Accept", "text/csv"))
		require.Equal(t, 200, w.Code, w.Body)
		return w.Body.String()
	}
	require.Contains(t, get("/admin/pools/p/awards"), ",-1,0,+1,gold,Gold=,0.00,0,true,prize,,\n")
	require.Contains(t, get("/admin/pools/p/awards?formulas=exact"), ",-1,0,+1,gold,Gold=,0.00,0,true,prize,,\n")
	require.Contains(t, get("/admin/pools/p/awards?formulas=escaped"), ",'-1,0,'+1,gold,Gold=,0.00,0,true,prize,,\n")
	require.Equal(t, "version,at,prize,delta,reason,actor,stocked,issued\n1,2026-03-04T04:06:07.000890Z,gold,10,start,admin,10,0\n",
		get("/admin/pools/p/moves?formulas=escaped"))
	w := do(s, asAdmin("GET", "/admin/pools/p/awards?formulas=escaped", ""))
	require.Equal(t, 400, w.Code, "JSON has no formulas")
	w = do(s, asAdmin("GET", "/admin/pools/p/awards?formulas=no", "", "Accept", "text/csv"))
	require.Contains(t, w.Body.String(), "formulas must be one of exact, escaped")
}

// TestPrizesAreAFile: the prizes as CSV are a file that an import reads, with the
// remaining units as its stock.
func TestPrizesAreAFile(t *testing.T) {
	t.Parallel()
	s := newServer(t, &fake{})
	w := do(s, asAdmin("GET", "/admin/pools/p/prizes", "", "Accept", "text/csv"))
	require.Equal(t, 200, w.Code, w.Body)
	file, err := prizefile.Read(strings.NewReader(w.Body.String()), func(*prizefile.Line) error { return nil })
	require.NoError(t, err)
	require.NoError(t, file.Bad.Err())
	var shown api.Prizes
	require.NoError(t, json.Unmarshal(do(s, asAdmin("GET", "/admin/pools/p/prizes", "")).Body.Bytes(), &shown))
	require.NotEmpty(t, shown.Prizes)
	for i, p := range shown.Prizes {
		l := file.Lines[i].Prize
		require.Equal(t, []string{p.ID, p.Name, p.Value, string(p.Kind)}, []string{l.ID, l.Name, l.Value.StringFixed(2), string(l.Kind)})
		require.Equal(t, *cmp.Or(p.Remaining, new(int64(draw.EndlessStock))), l.Stocked)
	}
}
