package http

import (
	"bytes"
	"context"
	"io"
	"net"
	nethttp "net/http"
	"syscall"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// The no-op handler: gin parses the JSON of a draw and answers with the JSON of a draw,
// in the simplest way. It decides nothing.
type noopAward struct {
	Prize   string `json:"prize"`
	Name    string `json:"name"`
	Value   string `json:"value"`
	Unit    int64  `json:"unit"`
	Version int64  `json:"version"`
	At      string `json:"at"`
}

type noopAnswer struct {
	Draw     string      `json:"draw"`
	Pool     string      `json:"pool"`
	User     string      `json:"user"`
	Replayed bool        `json:"replayed"`
	Awards   []noopAward `json:"awards"`
}

func noop() nethttp.Handler {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.POST("/draw", func(c *gin.Context) {
		var body drawBody
		if err := c.ShouldBindJSON(&body); err != nil {
			c.Status(400)
			return
		}
		c.JSON(200, noopAnswer{Draw: c.GetHeader(keyHeader), Pool: body.Pool, User: body.User, Awards: []noopAward{
			{"gold", "Gold coin", "19.90", 17, 1234, "2026-03-04T04:06:07.000890Z"},
		}})
	})
	return e
}

// instant is a service that decides nothing.
type instant struct{}

func (instant) Drain(context.Context) error { return nil }

func (instant) DrawFor(_ context.Context, _ string, r draw.Request) (draw.Draw, error) {
	return draw.Draw{ID: r.DrawID, PoolID: r.PoolID, UserID: r.UserID, Awards: []draw.Award{award(r.DrawID, r.UserID)}}, nil
}

func benchmarked(b *testing.B) map[string]nethttp.Handler {
	open := newServer(b, &fake{}, func(c *Config) { c.Drawer = instant{} })
	closed := newServer(b, &fake{}, withDrawToken, func(c *Config) { c.Drawer = instant{} })
	return map[string]nethttp.Handler{"noop": noop(), "open": open.Handler(), "token": closed.Handler()}
}

const benchmarkBody = `{"pool":"spring","user":"user-12345","count":1}`

// discarding is a ResponseWriter without memory.
type discarding struct{ h nethttp.Header }

func (d *discarding) Header() nethttp.Header            { return d.h }
func (d *discarding) WriteHeader(int)                   {}
func (d *discarding) Write(b []byte) (int, error)       { return len(b), nil }
func (d *discarding) WriteString(s string) (int, error) { return len(s), nil }

type rewound struct{ bytes.Reader }

func (*rewound) Close() error { return nil }

// BenchmarkHandler measures the handlers without a network.
func BenchmarkHandler(b *testing.B) {
	for name, handler := range benchmarked(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			r := request("POST", "/draw", benchmarkBody, "Idempotency-Key", "0197f5b2", "Authorization", "Bearer "+drawToken)
			w := &discarding{nethttp.Header{}}
			body := &rewound{}
			for b.Loop() {
				body.Reset([]byte(benchmarkBody))
				r.Body = body
				clear(w.h)
				handler.ServeHTTP(w, r)
			}
		})
	}
}

// BenchmarkLoopback measures CPU per request over keep-alive connections; the client
// only sends a few bytes and costs the same in each case.
func BenchmarkLoopback(b *testing.B) {
	for name, handler := range benchmarked(b) {
		b.Run(name, func(b *testing.B) { benchmarkLoopback(b, handler) })
	}
}

func benchmarkLoopback(b *testing.B, handler nethttp.Handler) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	server := &nethttp.Server{Handler: handler}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	request := []byte("POST /draw HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nIdempotency-Key: 0197f5b2\r\n" +
		"Authorization: Bearer " + drawToken + "\r\nContent-Length: 47\r\n\r\n" + benchmarkBody)
	b.SetParallelism(32)
	begin := cpu(b)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Error(err)
			return
		}
		defer conn.Close()
		answer := make([]byte, 4096)
		for pb.Next() {
			if _, err = conn.Write(request); err == nil {
				_, err = io.ReadAtLeast(conn, answer, 1) // one small answer is one packet
			}
			if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 200")) {
				b.Errorf("%v %.200s", err, answer)
				return
			}
		}
	})
	b.StopTimer()
	b.ReportMetric((cpu(b)-begin)/float64(b.N), "cpu-ns/op")
}

// cpu returns the processor time that this process has used, in nanoseconds.
func cpu(b *testing.B) float64 {
	var use syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return float64(use.Utime.Nano() + use.Stime.Nano())
}
