package http

import (
	"context"
	"fmt"
	"net"
	nethttp "net/http"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
)

// bigStore has one pool with many prizes, about 10 MB of JSON.
type bigStore struct{ fakeStore }

func (bigStore) Pool(_ context.Context, id string) (draw.Pool, error) {
	prizes := make([]draw.Prize, 100_000)
	for i := range prizes {
		prizes[i] = draw.Prize{ID: "prize", Name: "A prize with a name of some length, as they have"}
	}
	return draw.Pool{ID: id, Name: "Big", State: draw.StateOpen, Prizes: prizes}, nil
}

// heldBy returns the memory in use, in MB, while callers of a path do not read their
// answers.
func heldBy(t *testing.T, addr string, callers int, headers string) (megabytes uint64, conns []net.Conn) {
	t.Helper()
	for range callers {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		require.NoError(t, c.(*net.TCPConn).SetReadBuffer(4096))
		_, err = fmt.Fprintf(c, "GET %s\r\n\r\n", headers)
		require.NoError(t, err)
		conns = append(conns, c)
		begun := make([]byte, 1) // the answer is being sent
		require.NoError(t, c.SetReadDeadline(time.Now().Add(30*time.Second)))
		_, err = c.Read(begun)
		require.NoError(t, err)
	}
	runtime.GC()
	runtime.GC() // the contents of a sync.Pool survive the first collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc >> 20, conns
}

// TestSlowReadersShareMemory: the callers of a pool of 10 MB hold only a few copies of
// it. The broken double encodes it for each of them.
func TestSlowReadersShareMemory(t *testing.T) { //nolint:paralleltest // measures the heap of the process
	const callers, mostMB = 8, 45
	f := &fake{}
	s := undescribed(newServer(t, f, func(c *Config) { c.Store, c.RequestTimeout = bigStore{fakeStore{f}}, 30*time.Second })) // nothing else keeps the sent bytes
	s.bounds.Answers = gate.NewShares([gate.Ranks]int64{4 << 20, 8 << 20, 12 << 20, 16 << 20})
	addr := served(t, s)
	public, conns := heldBy(t, addr, callers, "/pools/big HTTP/1.1\r\nHost: localhost")
	require.Less(t, public, uint64(mostMB))
	for _, c := range conns {
		c.Close()
	}
	admin, _ := heldBy(t, addr, callers, "/admin/pools/big HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+adminToken)
	require.Less(t, admin, uint64(mostMB), "those beyond the bound were turned away")

	double := &nethttp.Server{Handler: nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := s.encodePool(r.Context(), "big")
		_, _ = w.Write(body)
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = double.Serve(l) }()
	defer double.Close()
	all, _ := heldBy(t, l.Addr().String(), callers, "/ HTTP/1.1\r\nHost: localhost")
	require.Greater(t, all, uint64(mostMB))
}

// readOnce is a bigStore that reports when its pool is read.
type readOnce struct {
	bigStore
	read chan struct{}
}

func (r readOnce) Pool(ctx context.Context, id string) (draw.Pool, error) {
	close(r.read)
	return r.bigStore.Pool(ctx, id)
}

// TestSlowReadersAreCutOff: the server does not wait for a caller that does not read.
func TestSlowReadersAreCutOff(t *testing.T) {
	t.Parallel()
	f := &fake{}
	big := readOnce{bigStore{fakeStore{f}}, make(chan struct{})}
	s := newServer(t, f, func(c *Config) { c.Store = big })
	s.limits.write = 2 * time.Second
	addr := served(t, s)
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.(*net.TCPConn).SetReadBuffer(4096))
	_, err = fmt.Fprint(c, "GET /pools/big HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.NoError(t, err)
	<-big.read
	require.Eventually(t, func() bool { return s.connections.Count() == 0 }, time.Minute, 10*time.Millisecond)
}
