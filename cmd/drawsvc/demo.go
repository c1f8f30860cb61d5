package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
)

// demo makes the pool `demo` when it is absent and prints lines that work as
// pasted.
func demo(ctx context.Context, c *config, w io.Writer, store *stock.Store, addr net.Addr) error {
	_, err := store.CreatePool(ctx, draw.Pool{ID: "demo", Name: "Demo", Prizes: []draw.Prize{
		{ID: "gold", Name: "Gold coin", Value: decimal.New(1990, -2), Stocked: 10},
		{ID: "silver", Name: "Silver spoon", Value: decimal.New(250, -2), Stocked: 90},
		{ID: "bronze", Name: "Bronze button", Value: decimal.New(10, -2), Stocked: 900},
	}}, "serve --demo")
	if err != nil && draw.CodeOf(err) != draw.CodePoolExists {
		return err
	}
	token := ""
	if c.tokens.keeper.Closed() {
		token = header(c.drawToken, c.drawSecret.file, "DRAW_TOKEN")
	}
	admin := header(c.adminToken, c.adminSecret.file, "ADMIN_TOKEN")
	scheme := "http://"
	if c.tlsCert != "" {
		scheme = "https://"
	}
	_, err = fmt.Fprint(w, strings.NewReplacer("URL", scheme+reachable(addr), " TOKEN", token, " ADMIN", admin).Replace(demoLines))
	return err
}

// header is the option of curl for a token. What came from a file is read from
// there again and not printed: standard output may be a log. Of a token in the
// file of tokens nobody knows more than a digest.
func header(token, file, variable string) string {
	switch {
	case file != "":
		return ` -H "Authorization: Bearer $(cat ` + quoted(file) + `)"`
	case token != "":
		return " -H " + quoted("Authorization: Bearer "+token)
	}
	return ` -H "Authorization: Bearer $` + variable + `"`
}

const demoLines = `
Draw a prize; with the same key, the same answer again:

  curl -s URL/draw TOKEN -H 'Content-Type: application/json' -d '{"pool":"demo","user":"u1"}'
  curl -s URL/draw TOKEN -H 'Content-Type: application/json' -H 'Idempotency-Key: my-first' -d '{"pool":"demo","user":"u1"}'

See what is left, put more in, and have the books checked:

  curl -s URL/admin/pools/demo ADMIN
  curl -s URL/admin/pools/demo/prizes/gold/stock ADMIN -H 'Content-Type: application/json' -d '{"delta":5,"reason":"restock"}'
  curl -s URL/admin/pools/demo/audit ADMIN

`

// quoted is s as a word of a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// reachable is the address for somebody on this machine.
func reachable(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if ip := net.ParseIP(host); err == nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr.String()
}

func lockScheme(url string) string {
	scheme, _, _ := strings.Cut(url, ":")
	return scheme
}
