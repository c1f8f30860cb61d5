package wire

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"
)

// Flags are what every program is started with.
type Flags struct {
	Listen   string
	Database string
	Redis    string
}

// ParseFlags reads the command line.
func ParseFlags() Flags {
	var f Flags
	flag.StringVar(&f.Listen, "listen", "127.0.0.1:8080", "address; port 0 picks one")
	flag.StringVar(&f.Database, "database", "postgres://127.0.0.1:5432/postgres", "PostgreSQL, where the program uses it")
	flag.StringVar(&f.Redis, "redis", "127.0.0.1:6379", "Redis, where the program uses it")
	flag.Parse()
	return f
}

// Exit ends the program with a line that says why.
func Exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Serve answers on the address until the process ends, and prints the address
// that it listens on.
func Serve(listen string, draw Drawer, ledger Ledger) error {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	s := server{draw: draw, ledger: ledger}
	engine.POST("/draw", s.postDraw)
	engine.POST("/admin/pools", s.postPool)
	engine.POST("/admin/pools/:pool/prizes/:prize/stock", s.postStock)
	engine.GET("/admin/pools", func(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"pools": []gin.H{}}) })
	engine.GET("/admin/pools/:pool/audit", s.audit)
	engine.GET("/admin/pools/:pool/awards", s.awards)
	engine.GET("/admin/pools/:pool/moves", s.moves)
	healthy := func(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"status": "ready"}) }
	engine.GET("/livez", healthy)
	engine.GET("/readyz", healthy)
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	web := http.Server{Handler: engine, ReadHeaderTimeout: 5 * time.Second}
	return web.Serve(listener)
}

type server struct {
	draw   Drawer
	ledger Ledger
}

// problem answers an error in the contract's words.
func problem(c *gin.Context, err error) {
	status, code := http.StatusInternalServerError, "internal"
	switch {
	case errors.Is(err, ErrSoldOut):
		status, code = http.StatusConflict, "sold-out"
	case errors.Is(err, ErrLimitReached):
		status, code = http.StatusConflict, "limit-reached"
	case errors.Is(err, ErrPoolExists):
		status, code = http.StatusConflict, "pool-exists"
	case errors.Is(err, ErrNotFound):
		status, code = http.StatusNotFound, "pool-not-found"
	case errors.Is(err, ErrContended):
		c.Header("Retry-After", "1")
		status, code = http.StatusServiceUnavailable, "contended"
	}
	c.JSON(status, gin.H{"type": "/problems/" + code, "title": code, "status": status, "code": code, "detail": err.Error()})
}

func (s server) postDraw(c *gin.Context) {
	in := struct {
		Pool  string `json:"pool" binding:"required"`
		User  string `json:"user" binding:"required"`
		Count int    `json:"count" binding:"min=0,max=100"`
	}{}
	key := c.GetHeader("Idempotency-Key")
	if err := c.ShouldBindJSON(&in); err != nil || key == "" {
		c.JSON(http.StatusBadRequest, gin.H{"code": "invalid-request", "detail": "body or Idempotency-Key"})
		return
	}
	request := Request{Pool: in.Pool, User: in.User, Key: key, Count: max(in.Count, 1)}
	answer, err := s.draw(c.Request.Context(), request)
	if err != nil {
		problem(c, err)
		return
	}
	awards := make([]gin.H, len(answer.Awards))
	for i, a := range answer.Awards {
		awards[i] = gin.H{"prize": a.Prize, "name": a.Prize, "value": "0", "unit": a.Unit, "version": a.Version, "at": a.At.UTC()}
	}
	c.JSON(http.StatusOK, gin.H{"draw": key, "pool": in.Pool, "user": in.User, "replayed": answer.Replayed, "awards": awards})
}
