package http

import (
	"context"
	"fmt"
	nethttp "net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

func TestDrawAnswersAsTheContractShows(t *testing.T) {
	f := &fake{}
	w := do(newServer(t, f), request("POST", "/draw", `{"pool":"spring","user":"u1","count":2}`, "Idempotency-Key", "k1"))
	require.Equal(t, nethttp.StatusOK, w.Code, w.Body)
	require.Equal(t, `{"draw":"k1","pool":"spring","user":"u1","replayed":false,"awards":[`+
		`{"prize":"gold","name":"Gold coin","value":"19.90","win":true,"unit":17,"version":1234,"at":"2026-03-04T04:06:07.000890Z"}]}`+"\n",
		w.Body.String())
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	require.Empty(t, w.Header().Get("Idempotent-Replayed"))
	require.Equal(t, draw.Request{PoolID: "spring", UserID: "u1", DrawID: "k1", Named: true, Count: 2}, f.last())
}

func TestDrawWithoutKeyIsNamedByTheService(t *testing.T) {
	f := &fake{}
	w := do(newServer(t, f), request("POST", "/draw", `{"pool":"spring","user":"u1"}`))
	require.Equal(t, nethttp.StatusOK, w.Code, w.Body)
	asked := f.last().(draw.Request)
	require.False(t, asked.Named)
	require.Equal(t, 1, asked.Count, "count is 1 when absent")
	id, err := uuid.Parse(asked.DrawID)
	require.NoError(t, err)
	require.Equal(t, uuid.Version(7), id.Version())
	require.Contains(t, w.Body.String(), `"draw":"`+asked.DrawID+`"`)
}

// TestDrawByPathIsTheSameDraw: a draw by path is from the pool in the path, and a body
// that names another pool draws nothing.
func TestDrawByPathIsTheSameDraw(t *testing.T) {
	for _, body := range []string{`{"user":"u1","count":2}`, `{"pool":"spring","user":"u1","count":2}`} {
		f := &fake{}
		w := do(newServer(t, f), request("POST", "/pools/spring/draws", body, "Idempotency-Key", "k1"))
		require.Equal(t, 200, w.Code, w.Body)
		require.Equal(t, draw.Request{PoolID: "spring", UserID: "u1", DrawID: "k1", Named: true, Count: 2}, f.last())
	}
	for target, body := range map[string]string{
		"/pools/other/draws": `{"pool":"spring","user":"u1"}`, "/pools/spring/draws": `{"pool":"","user":"u1"}`, "/pools/Spring/draws": `{"user":"u1"}`, "/draw": `{"user":"u1"}`,
	} {
		f := &fake{}
		p := problemIn(t, do(newServer(t, f), request("POST", target, body, "Idempotency-Key", "k1")).Result())
		require.Equal(t, "invalid-request", p.Code, target)
		require.Equal(t, "unknown", p.Outcome, target)
		require.Nil(t, f.last(), target)
	}
	ticketed := newServer(t, &fake{}, func(c *Config) { c.Tickets = anyTicket{} })
	require.Equal(t, 200, do(ticketed, request("POST", "/pools/spring/draws", `{"ticket":"t"}`)).Code)
	p := problemIn(t, do(ticketed, request("POST", "/pools/other/draws", `{"ticket":"t"}`)).Result())
	require.Equal(t, "invalid-request", p.Code, "the ticket is of another pool")
}

// TestDrawByPathKeepsTheCopies: a draw does not drop the copies of its pool, because it
// does not change them, and there are thousands of draws a second.
func TestDrawByPathKeepsTheCopies(t *testing.T) {
	f := &fake{}
	s := newServer(t, f)
	reads := func() (n int) {
		require.Equal(t, 200, do(s, request("GET", "/pools/spring", "")).Code)
		for _, asked := range f.asked {
			if asked == "spring" {
				n++
			}
		}
		return n
	}
	before := reads()
	require.Equal(t, 200, do(s, request("POST", "/pools/spring/draws", `{"user":"u1"}`)).Code)
	require.Equal(t, before, reads())
}

func TestReplayedDrawSaysSo(t *testing.T) {
	f := &fake{drawn: func(_ context.Context, r draw.Request) (draw.Draw, error) {
		return draw.Draw{ID: r.DrawID, PoolID: r.PoolID, UserID: r.UserID, Replayed: true, Awards: []draw.Award{award(r.DrawID, "u1")}}, nil
	}}
	w := do(newServer(t, f), request("POST", "/draw", `{"pool":"spring","user":"u1"}`, "Idempotency-Key", `"k1"`))
	require.Equal(t, 200, w.Code)
	require.Equal(t, "true", w.Header().Get("Idempotent-Replayed"))
	require.Contains(t, w.Body.String(), `"draw":"k1","pool":"spring","user":"u1","replayed":true`)
}

// TestDrawIsNotItsCallersToCancel: if a caller disconnects, its draw continues, because
// it may already be on its way to the disk.
func TestDrawIsNotItsCallersToCancel(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	f := &fake{drawn: func(within context.Context, r draw.Request) (draw.Draw, error) {
		leave()
		return draw.Draw{ID: r.DrawID, PoolID: r.PoolID, UserID: r.UserID}, within.Err()
	}}
	require.Equal(t, 200, do(newServer(t, f), request("POST", "/draw", `{"pool":"p","user":"u"}`).WithContext(ctx)).Code)
}

// TestAnswerIsTheSameAsAnEncodersOne compares the hand-written encoder with the
// library's, on texts that need escapes.
func TestAnswerIsTheSameAsAnEncodersOne(t *testing.T) {
	nasty := "\"\\/<>&\u2028\u007f\t\x01ü😀" + string(rune(0xfffd))
	d := draw.Draw{ID: nasty, PoolID: nasty, UserID: nasty, Awards: []draw.Award{award(nasty, nasty), award(nasty, nasty)}}
	d.Awards[0].Blank = true
	d.Awards[0].PrizeName, d.Awards[1].PrizeID = nasty, nasty
	type jsonAward struct {
		Prize   string `json:"prize"`
		Name    string `json:"name"`
		Value   string `json:"value"`
		Win     bool   `json:"win"`
		Unit    int64  `json:"unit"`
		Version int64  `json:"version"`
		At      string `json:"at"`
	}
	want := struct {
		Draw     string      `json:"draw"`
		Pool     string      `json:"pool"`
		User     string      `json:"user"`
		Replayed bool        `json:"replayed"`
		Awards   []jsonAward `json:"awards"`
	}{Draw: nasty, Pool: nasty, User: nasty}
	for _, a := range d.Awards {
		want.Awards = append(want.Awards, jsonAward{a.PrizeID, a.PrizeName, a.Value.StringFixed(2), !a.Blank, a.Unit, a.Version, "2026-03-04T04:06:07.000890Z"})
	}
	expected, err := json.Marshal(want)
	require.NoError(t, err)
	require.Equal(t, string(expected)+"\n", string(appendDraw(nil, &d)))
	require.True(t, utf8.Valid(appendDraw(nil, &draw.Draw{UserID: "\xff"})))
}

func TestValuesHaveTwoDecimals(t *testing.T) {
	for value, want := range map[string]string{
		"0": "0.00", "5": "5.00", "19.9": "19.90", "19.99": "19.99", "0.05": "0.05", "0.5": "0.50", "1e3": "1000.00",
		"999999999999.99": "999999999999.99", "1000": "1000.00", "19.900": "19.90",
		"0.01": "0.01", "0.10": "0.10", "0.00": "0.00", "100.00": "100.00", "-1.50": "-1.50", "99999999999999999999.99": "99999999999999999999.99",
	} {
		require.Equal(t, want, string(appendValue(nil, decimal.RequireFromString(value))))
	}
	require.Equal(t, "0.00", string(appendValue(nil, decimal.Decimal{})))
}

func TestTimesHaveSixDecimals(t *testing.T) {
	for _, ns := range []int{0, 999, 1000, 890_000, 100_000_000, 999_999_999} {
		made := time.Date(2026, 3, 4, 5, 6, 7, ns, time.FixedZone("", 3600))
		require.Equal(t, api.ShowTime(made), string(draw.AppendTime(nil, made)))
		require.Equal(t, fmt.Sprintf("at 2026-03-04T04:06:07.%06dZ", ns/1000), string(draw.AppendTime([]byte("at "), made)))
	}
}

func TestDrawIsReadAgain(t *testing.T) {
	f := &fake{}
	w := do(newServer(t, f), request("GET", "/pools/spring/draws/order%2F7%25%20x", ""))
	require.Equal(t, `{"draw":"order/7% x","pool":"spring","user":"u1","replayed":true,"awards":[`+
		`{"prize":"gold","name":"Gold coin","value":"19.90","win":true,"unit":17,"version":1234,"at":"2026-03-04T04:06:07.000890Z"}]}`+"\n", w.Body.String())
	require.Equal(t, [2]string{"spring", "order/7% x"}, f.last())
}

func TestPoolShowsNoCounts(t *testing.T) {
	w := do(newServer(t, &fake{}), request("GET", "/pools/spring", ""))
	require.Equal(t, `{"id":"spring","name":"Spring","state":"open","prizes":[`+
		`{"id":"gold","name":"Gold coin","value":"19.90","kind":"prize"},{"id":"pin","name":"Pin","value":"0.00","kind":"prize"}],"opens_at":null,"closes_at":null}`+"\n", w.Body.String())
}

func TestBadIDsInPaths(t *testing.T) {
	for _, target := range []string{
		"/pools/Spring", "/pools/..", "/pools/a%2Fb", "/pools/" + strings.Repeat("a", 65), "/pools/a%00", "/pools/%C3%BC",
		"/pools/A/draws/d", "/pools/a/draws/" + strings.Repeat("d", 129), "/pools/a/draws/%00", "/pools/a/draws/%C3%BC",
		"/admin/pools/A", "/admin/pools/A/awards", "/admin/pools/A/moves", "/admin/pools/A/audit",
	} {
		f := &fake{}
		require.Equal(t, "invalid-request", problemIn(t, do(newServer(t, f), asAdmin("GET", target, "")).Result()).Code, target)
		require.Nil(t, f.last())
	}
}
