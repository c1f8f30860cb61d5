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

	"drawsvc/client"
	"drawsvc/internal/draw"
)

func (f fakeStore) ImportAgenda(_ context.Context, poolID string, file io.Reader, actor string) (draw.Planned, error) {
	text, err := io.ReadAll(file)
	return sealed(), firstError(f.note([3]string{poolID, string(text), actor}), err)
}

func (f fakeStore) SpreadAgenda(_ context.Context, poolID string, spread draw.Spread, actor string) (draw.Planned, error) {
	return sealed(), f.note([3]any{poolID, spread, actor})
}

func sealed() draw.Planned {
	return draw.Planned{First: 8, Count: 2, Version: 9, Seal: draw.Seal{Salt: "salt", SHA256: strings.Repeat("a", 64)}}
}

// TestAgendaIsScheduled: many items are one call, and both ways of the wire agree.
func TestAgendaIsScheduled(t *testing.T) {
	t.Parallel()
	f := &fake{}
	s := newServer(t, f)
	const answer = `{"item":8,"count":2,"version":9,"sha256":"%s","salt":"salt"}`
	r := asAdmin("POST", "/admin/pools/p/agenda/import", "at,prize,delta,reason\n")
	r.Header.Set("Content-Type", "text/csv")
	w := do(s, r)
	require.Equal(t, 201, w.Code)
	require.JSONEq(t, fmt.Sprintf(answer, sealed().Seal.SHA256), w.Body.String())
	require.Equal(t, "/admin/pools/p/agenda?after=7", w.Header().Get("Location"))
	require.Equal(t, [3]string{"p", "at,prize,delta,reason\n", "admin"}, f.last())
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
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	admin := NewAdmin(&client.Client{URL: server.URL, Token: adminToken, HTTP: server.Client()})
	at := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, every := range []time.Duration{0, 90 * time.Minute} {
		wanted := draw.Spread{PrizeID: "gold", Units: 3, From: at, To: at.AddDate(0, 0, 1), Every: every, Reason: "r"}
		p, err := admin.SpreadAgenda(t.Context(), "p", wanted, "")
		require.NoError(t, err)
		require.Equal(t, sealed(), p)
		require.Equal(t, [3]any{"p", wanted, "admin"}, f.last())
	}
}
