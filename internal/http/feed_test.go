package http

import (
	"context"
	"encoding/json"
	nethttp "net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// TestFeedAnswers pins the forms of the feed, and the requests that reach the store.
func TestFeedAnswers(t *testing.T) {
	t.Parallel()
	f := &fake{}
	s := newServer(t, f)
	w := do(s, asAdmin("GET", "/admin/awards?win=true&limit=5&accept=fork", ""))
	cursor := feedEnd.String()
	line := `{"pool":"p","version":1234,"at":"2026-03-04T04:06:07.000890Z","draw":"d1","ordinal":1,"user":"u1","prize":"gold",` +
		`"name":"Gold coin","value":"19.90","win":true,"unit":17,"kind":"prize","redirect":{"drawn":"gold","why":"limit"},"cursor":"` + cursor + `"}`
	require.Equal(t, `{"awards":[`+line+`],"end":true,"next":"`+cursor+`"}`+"\n", w.Body.String())
	require.Equal(t, draw.FeedQuery{Wins: true, AcceptFork: true, Limit: 5}, f.last())

	w = do(s, asAdmin("GET", "/admin/awards?after="+cursor, ""))
	require.Equal(t, `{"awards":[],"end":true,"next":"`+cursor+`"}`+"\n", w.Body.String(), "an empty page has a next too")
	require.Equal(t, feedEnd, f.last().(draw.FeedQuery).After)
	w = do(s, asAdmin("GET", "/admin/awards?after=now", ""))
	require.Equal(t, `{"awards":[],"end":true,"next":"`+cursor+`"}`+"\n", w.Body.String())

	w = do(s, asAdmin("GET", "/admin/awards", "", "Accept", "application/x-ndjson"))
	require.Equal(t, line+"\n", w.Body.String())
	w = do(s, asAdmin("GET", "/admin/awards", "", "Accept", "text/csv"))
	require.Equal(t, "pool,version,at,draw,ordinal,user,prize,name,value,unit,win,kind,redirect_drawn,redirect_why,cursor\n"+
		"p,1234,2026-03-04T04:06:07.000890Z,d1,1,u1,gold,Gold coin,19.90,17,true,prize,gold,limit,"+cursor+"\n", w.Body.String())
}

func TestFeedRefusesBadQueries(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"after=", "after=1", "after=MS4x", "wait=61s", "wait=-1s", "wait=5", "win=1", "accept=no", "limit=0", "limit=1001"} {
		f := &fake{}
		p := problemIn(t, do(newServer(t, f), asAdmin("GET", "/admin/awards?"+query, "")).Result())
		require.Equal(t, "invalid-request", p.Code, query)
		require.Nil(t, f.last(), query)
	}
	f := &fake{err: draw.ErrorFeedForked("spring", 7)}
	w := do(newServer(t, f), asAdmin("GET", "/admin/awards", ""))
	require.Equal(t, 409, w.Code)
	require.Contains(t, w.Body.String(), `"code":"feed-forked","pool":"spring","version":7}`)
}

// awaited is a store whose feed gets its award at a given time.
type awaited struct {
	fakeStore
	at    time.Time
	polls *atomic.Int64
}

func (a awaited) ExtendFeed(context.Context) (int64, error) {
	a.polls.Add(1)
	if time.Now().Before(a.at) {
		return 0, nil
	}
	return 1, nil
}

func (a awaited) ReadFeed(ctx context.Context, wanted draw.FeedQuery) (draw.FeedPage, error) {
	if time.Now().Before(a.at) {
		return draw.FeedPage{IsEnd: true}, nil
	}
	return a.fakeStore.ReadFeed(ctx, wanted)
}

// TestFeedWaits: a call waits until there is an award, and no longer. Waiting calls share
// their polls of the database, and their number is bounded.
func TestFeedWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := awaited{fakeStore{&fake{}}, time.Now().Add(10 * time.Second), new(atomic.Int64)}
		s := newServer(t, store.fake, func(c *Config) { c.Store = store })
		begun := time.Now()
		codes := make(chan int, 101)
		for range 101 {
			go func() {
				w := do(s, asAdmin("GET", "/admin/awards?wait=30s", ""))
				if w.Code == 200 && (!strings.Contains(w.Body.String(), `"draw":"d1"`) || time.Since(begun) > 11*time.Second) {
					w.Code = 0
				}
				codes <- w.Code
			}()
		}
		counts := map[int]int{}
		for range 101 {
			counts[<-codes]++
		}
		require.Equal(t, map[int]int{200: 100, 503: 1}, counts)
		require.Less(t, store.polls.Load(), int64(101+25+100), "one poll in half a second for all")

		store.at = time.Now().Add(time.Hour)
		s = newServer(t, store.fake, func(c *Config) { c.Store = store })
		begun = time.Now()
		w := do(s, asAdmin("GET", "/admin/awards?wait=3s", ""))
		var page struct {
			Awards []any
			Next   *string
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &page))
		require.Empty(t, page.Awards)
		require.NotNil(t, page.Next)
		require.Equal(t, nethttp.StatusOK, w.Code)
		require.InDelta(t, 3, time.Since(begun).Seconds(), 0.6)
	})
}
