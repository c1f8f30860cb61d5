package wire

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
)

// Flags are the flags of every program.
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

// Main serves draws that need only PostgreSQL.
func Main(draw func(ctx context.Context, db *Postgres, r Request) (Answer, error)) {
	ServePostgres(ParseFlags(), draw)
}

// ServePostgres serves draws on the database that the flags name, until the
// process ends.
func ServePostgres(f Flags, draw func(ctx context.Context, db *Postgres, r Request) (Answer, error)) {
	db, err := OpenPostgres(context.Background(), f.Database)
	Exit(err)
	Exit(Serve(f.Listen, func(ctx context.Context, r Request) (Answer, error) { return draw(ctx, db, r) }, db))
}

// Exit ends the program and prints the reason.
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
	engine.GET("/admin/pools/:pool/audit", s.read(audit))
	engine.GET("/admin/pools/:pool/awards", s.read(awards))
	engine.GET("/admin/pools/:pool/moves", s.read(moves))
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

func problem(c *gin.Context, err error) {
	code, known := errors.AsType[Problem](err)
	if !known {
		code = "internal"
	}
	status := map[Problem]int{
		"internal": http.StatusInternalServerError, ErrNotFound: http.StatusNotFound, ErrContended: http.StatusServiceUnavailable,
	}[code]
	if code == ErrContended {
		c.Header("Retry-After", "1")
	}
	status = cmp.Or(status, http.StatusConflict)
	c.JSON(status, gin.H{"type": "/problems/" + code, "title": code, "status": status, "code": code, "detail": err.Error()})
}

func (s server) postDraw(c *gin.Context) {
	in := struct {
		Pool  string `json:"pool" binding:"required"`
		User  string `json:"user" binding:"required"`
		Count int    `json:"count" binding:"min=0,max=100"`
	}{}
	key := strings.Trim(c.GetHeader("Idempotency-Key"), `"`) // callers may quote it
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
