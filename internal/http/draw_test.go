package http

import (
	nethttp "net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

func TestDrawAnswersAsTheContractShows(t *testing.T) {
	f := &fake{}
	w := do(newServer(t, f), request("POST", "/draw", `{"pool":"spring","user":"u1","count":2}`, "Idempotency-Key", "k1"))
	require.Equal(t, nethttp.StatusOK, w.Code, w.Body)
	require.Equal(t, `{"draw":"k1","pool":"spring","user":"u1","replayed":false,"awards":[`+
		`{"prize":"gold","name":"Gold coin","value":"19.90","unit":17,"version":1234,"at":"2026-03-04T04:06:07.000890Z"}]}`+"\n",
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
