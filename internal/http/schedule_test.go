package http

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

func (f fakeStore) ImportAgenda(_ context.Context, poolID string, file io.Reader, key, actor string) (draw.Planned, error) {
	text, err := io.ReadAll(file)
	planned := sealed(key)
	planned.Encoding = draw.EncodingUTF8
	return planned, firstError(f.note([4]string{poolID, string(text), key, actor}), err)
}

func (f fakeStore) CheckAgendaFile(_ context.Context, poolID string, file io.Reader) ([]draw.Item, draw.Encoding, error) {
	text, err := io.ReadAll(file)
	items := []draw.Item{{At: at, Kind: draw.ItemStock, Stock: draw.Stocking{PrizeID: "gold", Delta: -5, Reason: "back"}}, {At: at, Kind: draw.ItemMoment, Stock: draw.MomentOf("gold")}}
	return items, draw.EncodingWindows1252, firstError(f.note([3]string{poolID, string(text), "dry"}), err)
}

func (f fakeStore) SpreadAgenda(_ context.Context, poolID string, spread draw.Spread, key, actor string) (draw.Planned, error) {
	return sealed(key), f.note([4]any{poolID, spread, key, actor})
}

// sealed returns the answer of a store that has seen the key "again" before.
func sealed(key string) draw.Planned {
	return draw.Planned{First: 8, Count: 2, Version: 9, Seal: draw.Seal{Salt: "salt", SHA256: strings.Repeat("a", 64)}, Replayed: key == "again"}
}

// TestAgendaIsScheduled: many items are one call, and client and server agree.
func TestAgendaIsScheduled(t *testing.T) {
	t.Parallel()
	f := &fake{}
	s := newServer(t, f)
	const answer = `{"item":8,"count":2,"version":9,"sha256":"%s","salt":"salt","replayed":%t}`
	r := asAdmin("POST", "/admin/pools/p/agenda/import", "at,prize,delta,reason\n")
	r.Header.Set("Content-Type", "text/csv")
	w := do(s, r)
	require.Equal(t, 201, w.Code)
	require.JSONEq(t, fmt.Sprintf(strings.TrimSuffix(answer, "}")+`,"encoding":"utf-8"}`, sealed("").Seal.SHA256, false), w.Body.String())
	require.Equal(t, "/admin/pools/p/agenda?after=7", w.Header().Get("Location"))
	require.Empty(t, w.Header().Get("Idempotent-Replayed"))
	require.Equal(t, [4]string{"p", "at,prize,delta,reason\n", "", "admin"}, f.last())
	r = asAdmin("POST", "/admin/pools/p/agenda/import?dry_run=true", "at,prize,delta,reason\n")
	r.Header.Set("Content-Type", "text/csv")
	w = do(s, r)
	require.Equal(t, 200, w.Code)
	when := api.ShowTime(at)
	require.JSONEq(t, `{"dry_run":true,"encoding":"windows-1252","items":[{"at":"`+when+`","prize":"gold","units":-5,"moment":false},{"at":"`+when+`","prize":"gold","units":1,"moment":true}]}`, w.Body.String())
	require.Equal(t, [3]string{"p", "at,prize,delta,reason\n", "dry"}, f.last())
	const span = `"prize":"gold","units":3,"from":"2999-01-01T00:00:00Z","to":"2999-01-02T00:00:00Z"`
	for body, status := range map[string]int{
		`{` + span + `,"random":true}`:                       201,
		`{` + span + `,"every":"90m","reason":"r"}`:          201,
		`{` + span + `,"every":"90m","random":true}`:         400,
		`{` + span + `}`:                                     400,
		`{` + span + `,"every":"-1h"}`:                       400,
		`{` + span + `,"every":"often"}`:                     400,
		`{"prize":"gold","units":3,"from":"x","every":"1h"}`: 400,
	} {
		require.Equal(t, status, do(s, asAdmin("POST", "/admin/pools/p/agenda/spread", body)).Code, body)
	}
	replaysAgenda(t, s, f, answer, `{`+span+`,"random":true}`)
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	admin := adminOf(server)
	at, reason := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), "r"
	for text, every := range map[string]time.Duration{"": 0, "1h30m": 90 * time.Minute} {
		wanted := draw.Spread{PrizeID: "gold", Units: 3, From: at, To: at.AddDate(0, 0, 1), Every: every, Reason: reason}
		body := api.NewSpread{Prize: "gold", Units: 3, From: api.ShowTime(wanted.From), To: api.ShowTime(wanted.To), Random: every == 0, Reason: &reason}
		if text != "" {
			body.Every = &text
		}
		p, err := admin.SpreadAgenda(t.Context(), "p", "k", &body)
		require.NoError(t, err)
		require.Equal(t, api.ShowPlanned(new(sealed(""))), p)
		require.Equal(t, [4]any{"p", wanted, "k", "admin"}, f.last())
	}
}

// replaysAgenda: keys reach the store, and replays are marked.
func replaysAgenda(t *testing.T, s *Server, f *fake, answer, spread string) {
	t.Helper()
	for path, body := range map[string]string{"import": "at,prize,delta,reason\n", "spread": spread} {
		answer := answer
		ask := func(key string) *httptest.ResponseRecorder {
			r := asAdmin("POST", "/admin/pools/p/agenda/"+path, body, "Idempotency-Key", key)
			if path == "import" {
				r.Header.Set("Content-Type", "text/csv")
			}
			return do(s, r)
		}
		w := ask(`"again"`)
		require.Equal(t, 201, w.Code)
		require.Equal(t, "true", w.Header().Get("Idempotent-Replayed"))
		if path == "import" {
			answer = strings.TrimSuffix(answer, "}") + `,"encoding":"utf-8"}`
		}
		require.JSONEq(t, fmt.Sprintf(answer, sealed("").Seal.SHA256, true), w.Body.String())
		require.Equal(t, "invalid-request", problemIn(t, ask("a b").Result()).Code)
		f.err = draw.Errorf(draw.CodeKeyReused, "because")
		require.Equal(t, 422, ask("other").Code)
		f.err = nil
	}
}
