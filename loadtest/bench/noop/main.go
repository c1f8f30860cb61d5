package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"
)

type request struct {
	Pool  string `json:"pool" binding:"required"`
	User  string `json:"user" binding:"required"`
	Count int    `json:"count"`
}

type award struct {
	Prize   string `json:"prize"`
	Name    string `json:"name"`
	Value   string `json:"value"`
	Unit    int64  `json:"unit"`
	Version int64  `json:"version"`
	At      string `json:"at"`
}

type answer struct {
	Draw     string  `json:"draw"`
	Pool     string  `json:"pool"`
	User     string  `json:"user"`
	Replayed bool    `json:"replayed"`
	Awards   []award `json:"awards"`
}

type problem struct {
	Type    string `json:"type"`
	Title   string `json:"title"`
	Status  int    `json:"status"`
	Detail  string `json:"detail"`
	Code    string `json:"code"`
	Outcome string `json:"outcome"`
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8090", "address; port 0 picks one")
	flag.Parse()
	if err := serve(*listen); err != nil {
		fmt.Fprintln(os.Stderr, "noop:", err)
		os.Exit(1)
	}
}

func serve(address string) error {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.POST("/draw", draw)
	engine.GET("/readyz", func(c *gin.Context) { c.Status(http.StatusOK) })
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	server := http.Server{Handler: engine, ReadHeaderTimeout: 5 * time.Second}
	return server.Serve(listener)
}

func draw(c *gin.Context) {
	var r request
	if err := c.ShouldBindJSON(&r); err != nil {
		c.Status(http.StatusBadRequest)
		return
	}
	if r.Pool == "sold-out" {
		c.Header("X-Request-Id", "92b6885b-b39c-43b1-b044-cc9069ba9842")
		c.JSON(http.StatusConflict, problem{"/problems/sold-out", "Sold out", http.StatusConflict,
			`pool "sold-out" holds fewer units than asked for`, "sold-out", "none"})
		return
	}
	name := c.GetHeader("Idempotency-Key")
	if name == "" {
		name = "0197f5b2-7c1e-7d3a-9b4f-5a6c7d8e9f01"
	}
	c.JSON(http.StatusOK, answer{Draw: name, Pool: r.Pool, User: r.User, Awards: []award{
		{"prize-7", "Prize 7", "1.00", 12345, 123456, "2026-03-04T04:06:07.000890Z"},
	}})
}
