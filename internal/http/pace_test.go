package http

import (
	"bufio"
	"fmt"
	"net"
	nethttp "net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/http/gate"
)

// TestSlowExportLosesItsPlace: a caller that reads a long log too slowly is cut off,
// and the next caller gets its place.
func TestSlowExportLosesItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, slowExportLosesItsPlace)
}

func slowExportLosesItsPlace(t *testing.T) {
	_, s := newGrowing(t, 200_000)
	s.limits.page, s.limits.pace = time.Second, time.Millisecond
	l := pipedTo(t, s)
	slow := make([]net.Conn, s.bounds.Streams.Limit(gate.RankAdmin))
	for i := range slow {
		conn, err := l.dial(t)
		require.NoError(t, err)
		_, err = fmt.Fprintf(conn, "GET /admin/pools/p/awards HTTP/1.1\r\nHost: a\r\nAuthorization: %s\r\nAccept: text/csv\r\n\r\n",
			asAdmin("GET", "/", "").Header.Get("Authorization"))
		require.NoError(t, err)
		answer, err := nethttp.ReadResponse(bufio.NewReaderSize(conn, 512), nil)
		require.NoError(t, err)
		require.Equal(t, 200, answer.StatusCode)
		slow[i] = conn
	}
	caller := l.client(t)
	status := func() int {
		r := asAdmin("GET", "http://localhost/admin/pools/p/awards?after=199990", "", "Accept", "text/csv")
		r.RequestURI = ""
		answer, err := caller.Do(r)
		require.NoError(t, err)
		_ = bodyOf(t, answer)
		return answer.StatusCode
	}
	require.Equal(t, 503, status(), "the slow ones hold all places")
	for begin := time.Now(); status() != 200; time.Sleep(20 * time.Millisecond) {
		require.Less(t, time.Since(begin), 30*time.Second)
		for _, conn := range slow { // fast enough for the first page of 1000 awards, and too slow for many pages
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Millisecond)))
			_, _ = conn.Read(make([]byte, 4<<10)) // cut off, or nothing there yet
		}
	}
}
