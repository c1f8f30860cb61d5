package http

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

func manyAwards(n int) []draw.Award {
	awards := make([]draw.Award, n)
	for i := range awards {
		awards[i] = award(fmt.Sprintf("d%d", i+1), "u1")
		awards[i].Version = int64(i + 1)
	}
	return awards
}

func TestPages(t *testing.T) {
	f := &fake{awards: manyAwards(250)}
	s := newServer(t, f)
	var seen []int64
	for target := "/admin/pools/p/awards?"; ; {
		var answer struct {
			Awards []struct{ Version int64 }
			Next   *int64
		}
		w := do(s, asAdmin("GET", target, ""))
		require.Equal(t, 200, w.Code, w.Body)
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		require.LessOrEqual(t, len(answer.Awards), 100)
		for _, a := range answer.Awards {
			seen = append(seen, a.Version)
		}
		if answer.Next == nil {
			break
		}
		target = fmt.Sprintf("/admin/pools/p/awards?after=%d", *answer.Next)
	}
	require.Len(t, seen, 250)
	for i, version := range seen {
		require.Equal(t, int64(i+1), version)
	}
}

func TestLastPageHasNoNext(t *testing.T) {
	s := newServer(t, &fake{awards: manyAwards(4)})
	for target, end := range map[string]string{
		"?limit=4": `"next":null}`, "?limit=3": `"next":3}`, "?after=2&limit=1": `"next":3}`, "?after=4": `{"awards":[],"cursor":4,"next":null}`,
		"?limit=1000": `"next":null}`, "?after=9223372036854775807": `{"awards":[],"cursor":9223372036854775807,"next":null}`,
	} {
		w := do(s, asAdmin("GET", "/admin/pools/p/awards"+target, ""))
		require.True(t, strings.HasSuffix(w.Body.String(), end+"\n"), "%s: %s", target, w.Body)
	}
}

// TestFeedsHaveACursor: every page has the cursor that continues after it, even the
// last page or an empty page, so that a reader misses no later entry.
func TestFeedsHaveACursor(t *testing.T) {
	s := newServer(t, &fake{awards: manyAwards(4)})
	for target, cursor := range map[string]int64{
		"/admin/pools/p/awards": 4, "/admin/pools/p/awards?limit=2": 2, "/admin/pools/p/awards?after=4": 4, "/admin/pools/p/awards?after=77": 77,
		"/admin/pools/p/awards?user=u&after=1": 4, "/admin/pools/p/moves": 1, "/admin/pools/p/agenda": 9, "/admin/pools/p/agenda?after=9": 9,
		"/pools/p/users/u/awards": 1234,
	} {
		var page struct{ Cursor *int64 }
		w := do(s, asAdmin("GET", target, ""))
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &page), target)
		require.NotNil(t, page.Cursor, target)
		require.Equal(t, cursor, *page.Cursor, "%s: %s", target, w.Body)
	}
}

func TestBadPages(t *testing.T) {
	for _, query := range []string{
		"after=-1", "after=x", "after=", "after=1.0", "after=%2B1", "after=9223372036854775808", "after=1&after=2", "limit=0",
		"limit=1001", "limit=-1", "limit=1e2", "limit", "Limit=5", "afer=5", "a;b", "after=%zz",
	} {
		for _, what := range []string{"awards", "moves"} {
			f := &fake{}
			r := asAdmin("GET", "/admin/pools/p/"+what, "")
			r.URL.RawQuery = query
			require.Equal(t, "invalid-request", problemIn(t, do(newServer(t, f), r).Result()).Code, query)
			require.Nil(t, f.last())
		}
	}
}

func TestMovesPage(t *testing.T) {
	f := &fake{}
	require.Equal(t, 200, do(newServer(t, f), asAdmin("GET", "/admin/pools/p/moves?after=5&limit=7", "")).Code)
	require.Equal(t, [2]int64{5, 8}, f.last(), "one more than asked for")
}

func TestWantsCSV(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "text/html": false, "text/*": true, "application/*, text/*": false, "*/*;q=0.1, application/json;q=0": true,
		"text/csv": true, "TEXT/CSV": true, "text/csv; header=present": true, "text/csv, */*;q=0.1": true,
		"application/json, text/csv": true, "application/json, text/csv;q=0.5": false, "application/json;q=0.5, text/csv": true,
		"text/csv;q=0": false, "text/csv;q=x": false, "text/html, text/csv;q=0.9": true,
	} {
		require.Equal(t, want, prefers(typeCSV, nethttp.Header{"Accept": {accept}}), accept)
	}
}

// growing is a store in which a draw happens at every read.
type growing struct {
	fakeStore
	growth sync.Mutex
	pages  atomic.Int64
	failAt int64
	pause  time.Duration
}

func (g *growing) Pool(context.Context, string) (draw.Pool, error) {
	g.growth.Lock()
	defer g.growth.Unlock()
	return draw.Pool{ID: "p", Version: int64(len(g.awards))}, g.err
}

func (g *growing) Awards(ctx context.Context, id string, after int64, limit int) ([]draw.Award, error) {
	if g.pages.Add(1) == g.failAt {
		return nil, errors.New("the store is down")
	}
	select {
	case <-time.After(g.pause):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	g.growth.Lock()
	defer g.growth.Unlock()
	found, err := g.fakeStore.Awards(ctx, id, after, limit)
	next := manyAwards(1)[0]
	if len(g.awards) > 0 {
		next = g.awards[len(g.awards)-1]
		next.Version++
	}
	g.awards = append(g.awards, next)
	return found, err
}

func newGrowing(t *testing.T, awards int) (*growing, *Server) {
	t.Helper()
	g := &growing{fakeStore: fakeStore{&fake{awards: manyAwards(awards)}}}
	s := newServer(t, g.fake, func(c *Config) { c.Store = g })
	return g, s
}

func TestExportIsWholeExactAndEnds(t *testing.T) {
	for _, n := range []int{0, 1, 999, 1000, 1001, 2500} {
		g, s := newGrowing(t, n)
		if n > 0 {
			g.awards[0].UserID, g.awards[0].PrizeName = `=1+1,"x"`, "Ünï;code"
		}
		w := do(s, asAdmin("GET", "/admin/pools/p/awards", "", "Accept", "text/csv"))
		require.Equal(t, 200, w.Code)
		require.Equal(t, "text/csv; charset=utf-8; header=present", w.Header().Get("Content-Type"))
		require.True(t, strings.HasPrefix(w.Body.String(), "version,at,draw,ordinal,user,prize,name,value,unit,win,kind,redirect_drawn,redirect_why\n"))
		rows, err := csv.NewReader(w.Body).ReadAll()
		require.NoError(t, err)
		require.Len(t, rows, n+1, "the awards of the beginning, no later ones")
		for i, row := range rows[1:] {
			require.Equal(t, fmt.Sprint(i+1), row[0])
		}
		if n > 0 {
			require.Equal(t, []string{"1", "2026-03-04T04:06:07.000890Z", "d1", "1", `=1+1,"x"`, "gold", "Ünï;code", "19.90", "17", "true", "prize", "", ""}, rows[1])
		}
	}
}

func TestExportAfterAVersion(t *testing.T) {
	_, s := newGrowing(t, 20)
	w := do(s, asAdmin("GET", "/admin/pools/p/awards?after=18", "", "Accept", "text/csv"))
	require.Equal(t, 3, strings.Count(w.Body.String(), "\n"), w.Body)
	w = do(s, asAdmin("GET", "/admin/pools/p/awards?limit=0", "", "Accept", "text/csv"))
	require.Equal(t, "invalid-request", problemIn(t, w.Result()).Code)
}

func TestExportThatFailsAtOnceIsAProblem(t *testing.T) {
	g, s := newGrowing(t, 5)
	g.failAt = 1
	w := do(s, asAdmin("GET", "/admin/pools/p/awards", "", "Accept", "text/csv"))
	require.Equal(t, "internal", problemIn(t, w.Result()).Code)
	g.err = draw.Errorf(draw.CodePoolNotFound, "no")
	w = do(s, asAdmin("GET", "/admin/pools/p/awards", "", "Accept", "text/csv"))
	require.Equal(t, "pool-not-found", problemIn(t, w.Result()).Code)
}

func TestExportThatFailsLaterIsCutOff(t *testing.T) {
	g, s := newGrowing(t, 2500)
	g.failAt = 2
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	r := asAdmin("GET", server.URL+"/admin/pools/p/awards", "", "Accept", "text/csv")
	r.RequestURI = ""
	answer, err := nethttp.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, 200, answer.StatusCode)
	_, err = io.ReadAll(answer.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "the file must not look like a whole one")
}

// slowAudit is a store whose audit takes its full timeout.
type slowAudit struct{ fakeStore }

func (slowAudit) Audit(ctx context.Context, _ string) (draw.Audit, error) {
	<-ctx.Done()
	return draw.Audit{}, draw.Wrap(draw.CodeStoreUnavailable, ctx.Err(), "the database does not answer")
}

// TestAuditThatTakesTooLong: the answer names the way to an audit without a timeout.
func TestAuditThatTakesTooLong(t *testing.T) {
	f := &fake{}
	s := newServer(t, f, func(c *Config) { c.Store = slowAudit{fakeStore{f}} })
	s.limits.audit = 50 * time.Millisecond
	w := do(s, asAdmin("GET", "/admin/pools/p/audit", ""))
	require.Equal(t, 503, w.Code, w.Body)
	require.Contains(t, w.Body.String(), `"detail":"the audit took longer than 50ms; the command drawsvc audit has no limit"`)
	require.Contains(t, w.Body.String(), `"code":"store-unavailable"`)
}

// TestSlowExportOutlivesTheTimeouts: no timeout of the connection ends a stream that
// makes progress.
func TestSlowExportOutlivesTheTimeouts(t *testing.T) { synctest.Test(t, slowExportOutlivesTheTimeouts) }

func slowExportOutlivesTheTimeouts(t *testing.T) {
	g, s := newGrowing(t, 4500)
	g.pause = 150 * time.Millisecond
	s.limits.read, s.limits.write = 300*time.Millisecond, 300*time.Millisecond
	r := asAdmin("GET", "http://localhost/admin/pools/p/awards", "", "Accept", "text/csv")
	r.RequestURI = ""
	begin := time.Now()
	answer, err := pipedTo(t, s).client(t).Do(r)
	require.NoError(t, err)
	body := bodyOf(t, answer)
	require.Greater(t, time.Since(begin), 600*time.Millisecond, "slow enough to mean something")
	require.Equal(t, 4501, strings.Count(body, "\n"))
}
