package serve

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

// demoActor is recorded with what the demo creates.
const demoActor = "serve --demo"

// demoPrizes returns the prizes of the demo's pools.
func demoPrizes() []draw.Prize {
	return []draw.Prize{
		{ID: "gold", Name: "Gold coin", Value: decimal.New(1990, -2), Stocked: 10},
		{ID: "silver", Name: "Silver spoon", Value: decimal.New(250, -2), Stocked: 90},
		{ID: "bronze", Name: "Bronze button", Value: decimal.New(10, -2), Stocked: 900},
	}
}

// demoPools returns a lottery without blanks, and a campaign.
func demoPools() ([]draw.Pool, error) {
	rules, err := draw.ParseRules([]byte(demoRules))
	prizes := demoPrizes()
	return []draw.Pool{
		{ID: "demo", Name: "Demo", Prizes: prizes},
		{ID: "demo-campaign", Name: "Demo of a campaign", Rules: rules, Prizes: append(prizes[:2:2],
			draw.Prize{ID: "none", Name: "No luck today", Kind: draw.KindBlank, Stocked: draw.EndlessStock})},
	}, err
}

// demoRules are three blanks in four draws, three draws a day, and odds that everybody
// may read.
const demoRules = `{"win":"1/4","fallback":"none","limits":[{"of":"draws","max":3,"per":"day"}],"disclose":true}`

// demo creates the demo's pools if they are absent and prints lines that work as
// pasted.
func demo(ctx context.Context, c *Config, w io.Writer, store *stock.Store, addr net.Addr) error {
	pools, err := demoPools()
	if err != nil {
		return err
	}
	for _, p := range pools {
		if _, err := store.CreatePool(ctx, p, demoActor); err != nil && draw.CodeOf(err) != draw.CodePoolExists {
			return err
		}
	}
	verifiable, err := verifiablePool(ctx, c, store)
	if err != nil {
		return err
	}
	token := ""
	if c.tokens.keeper.Closed() {
		token = header(c.drawToken, c.drawSecret.File, "DRAW_TOKEN")
	}
	admin := header(c.adminToken, c.adminSecret.File, "ADMIN_TOKEN")
	scheme := "http://"
	if c.tlsCert != "" {
		scheme = "https://"
	}
	url := scheme + reachable(addr)
	lines := strings.NewReplacer("URL", url, " TOKEN", token, " ADMIN", admin).Replace(demoLines)
	_, err = fmt.Fprint(w, lines+c.verifiable(verifiable, url, token))
	return err
}

// header returns curl's option for a token. A token that came from a file is read from
// there again and not printed: standard output may be a log. Of a token in the file of
// tokens, only the digest is known.
func header(token, file, variable string) string {
	switch {
	case file != "":
		return ` -H "Authorization: Bearer $(cat ` + quote(file) + `)"`
	case token != "":
		return " -H " + quote("Authorization: Bearer "+token)
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

A campaign, where one draw in four wins and a user has three draws a day:

  curl -s URL/draw TOKEN -H 'Content-Type: application/json' -d '{"pool":"demo-campaign","user":"u1"}'
  curl -s URL/pools/demo-campaign/users/u1 TOKEN
  curl -s URL/pools/demo-campaign/odds TOKEN

`

// quote returns s as a word of a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// reachable returns the address for a caller on this machine.
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
