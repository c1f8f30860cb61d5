package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/proof"
	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
)

// demoActor is the actor of the demo's changes.
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
	rules, err := rules.Parse([]byte(demoRules))
	prizes := demoPrizes()
	return []draw.Pool{
		{ID: "demo", Name: "Demo", Prizes: prizes},
		{ID: "demo-campaign", Name: "Demo of a campaign", Rules: rules, Prizes: append(prizes[:2:2],
			draw.Prize{ID: "none", Name: "No luck today", Kind: draw.KindBlank, Stocked: draw.EndlessStock})},
	}, err
}

// demoRules set three blanks in four draws, three draws a day, and odds that everybody
// may read.
const demoRules = `{"win":"1/4","fallback":"none","limits":[{"of":"draws","max":3,"per":"day"}],"disclose":true}`

// demo creates the demo's pools if they are absent. It prints command lines that can be
// copied unchanged.
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

// header returns curl's option for a token. If the token came from a file, the option
// reads that file, so that the token is not printed: standard output may be a log. If
// the token is in the file of tokens, only its digest is known, and the option names the
// variable.
func header(token, file, variable string) string {
	switch {
	case file != "":
		return ` -H "Authorization: Bearer $(head -n 1 ` + quote(file) + `)"`
	case token != "":
		return " -H " + quote("Authorization: Bearer "+token)
	}
	return ` -H "Authorization: Bearer $` + variable + `"`
}

const demoLines = `
Draw a prize; with the same key, the same answer again:

  curl -s URL/draw TOKEN -H 'Content-Type: application/json' -d '{"pool":"demo","user":"u1"}'
  curl -s URL/draw TOKEN -H 'Content-Type: application/json' -H 'Idempotency-Key: my-first' -d '{"pool":"demo","user":"u1"}'

Show the remaining stock, add units, and audit the pool:

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

// demoSeeds gives the demo an identity in a file next to the database file, and makes it
// the recipient of seeds. It does so only if neither an identity nor recipients were
// given and the database is a file. With a database server, each instance of a demo
// would get a different identity.
func (c *Config) demoSeeds(store *stock.Store, url string) error {
	if c.sealTo != nil || c.unsealBy != nil || store.Dialect() != "sqlite" {
		return nil
	}
	path := strings.TrimPrefix(url, "sqlite:") + ".seed-identity"
	text, err := ensureIdentity(path)
	if err != nil {
		return fmt.Errorf("the demo's identity: %w", err)
	}
	by, err := proof.ParseIdentities(text)
	if err != nil {
		return fmt.Errorf("the demo's identity %s: %s", path, setting.Message(err))
	}
	if c.sealTo, err = by.Recipients(); err != nil {
		return err
	}
	c.unsealBy = by
	store.Unseal(by)
	return nil
}

// ensureIdentity reads the file of an identity, and creates it if it does not exist.
// The file gets its name when it is complete.
func ensureIdentity(path string) (string, error) {
	text, err := setting.ReadPrivate(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return string(text), err
	}
	made, err := proof.NewIdentity()
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(path+".new", []byte(made), 0o600); err != nil {
		return "", err
	}
	return made, os.Rename(path+".new", path)
}

// demoVerifiableMax bounds the number of demo pools for verifiable draws: once a user
// has closed one of them, the next demo uses the next name.
const demoVerifiableMax = 1000

// verifiablePool creates a demo pool that is committed to its numbers, or finds an
// earlier one that is still open. It returns the pool's id, "" if there is no key to seal
// and unseal seeds.
func verifiablePool(ctx context.Context, c *Config, store *stock.Store) (string, error) {
	if c.sealTo == nil || c.unsealBy == nil {
		return "", nil
	}
	id := "demo-verifiable"
	for n := 2; n < demoVerifiableMax; n++ {
		err := openCommitted(ctx, c, store, id)
		if err == nil {
			return id, nil
		}
		if !slices.Contains([]draw.Code{draw.CodePoolClosed, draw.CodePoolOpen, draw.CodeSeedUnavailable}, draw.CodeOf(err)) {
			return "", err
		}
		id = "demo-verifiable-" + strconv.Itoa(n)
	}
	return "", errors.New("the demo has closed too many pools of verifiable draws: begin with another database")
}

// openCommitted creates, commits and opens a pool, and skips steps that were done
// before. Errors: CodePoolClosed, CodePoolOpen for a pool that was opened without a
// commitment, and CodeSeedUnavailable for a pool of another identity.
func openCommitted(ctx context.Context, c *Config, store *stock.Store, id string) error {
	p := draw.Pool{ID: id, Name: "Demo of verifiable draws", State: draw.StatePaused, Prizes: demoPrizes()}
	if _, err := store.CreatePool(ctx, p, demoActor); err != nil && draw.CodeOf(err) != draw.CodePoolExists {
		return err
	}
	_, err := store.CommitPool(ctx, stock.Committing{
		PoolID: id, Host: cmp.Or(c.origin, "localhost"), Epochs: proof.EpochsDefault, EpochLength: proof.EpochLengthDefault,
		Recipients: c.sealTo, Actor: demoActor,
	})
	if err != nil && draw.CodeOf(err) != draw.CodePoolCommitted {
		return err
	}
	if err := store.CheckSeeds(ctx, id); err != nil {
		return err
	}
	open := draw.StateOpen
	_, err = store.ChangePool(ctx, id, draw.PoolChange{State: &open}, demoActor)
	return err
}

const verifiableLines = `Verifiable draws: one with a receipt. Then close the pool, publish its log, and check both:

  curl -s URL/draw TOKEN -H 'Content-Type: application/json' -H 'Idempotency-Key: my-proof' -d '{"pool":"POOL","user":"u1","receipt":true}' | tee answer.json
  ADMIN pool close POOL --reveal --server URL
  ADMIN pool export-proof --pool POOL --server URL demo-proof
  PROGRAM verify demo-proof --receipts answer.json
  PROGRAM receipt verify answer.json --key "$(cat demo-proof/key)" --draw my-proof --user u1

`

// noVerifiableLines are printed for a demo in which nobody can seal and unseal seeds.
const noVerifiableLines = `Verifiable draws: name --seed-recipients and --seed-identity-file to see them here (docs/verifiable-draws.md).

`

// verifiable returns lines that show verifiable draws of a pool, or noVerifiableLines if
// pool is "". token is the option of curl for the draw token.
func (c *Config) verifiable(pool, url, token string) string {
	if pool == "" {
		return noVerifiableLines
	}
	program := itself()
	admin := "DRAWSVC_TOKEN=" + quote(c.adminToken) + " " + program
	switch {
	case c.adminSecret.File != "":
		admin = "DRAWSVC_TOKEN_FILE=" + quote(c.adminSecret.File) + " " + program
	case c.adminToken == "":
		admin = `DRAWSVC_TOKEN="$ADMIN_TOKEN" ` + program
	}
	return strings.NewReplacer("URL", url, " TOKEN", token, "ADMIN", admin, "PROGRAM", program, "POOL", pool).Replace(verifiableLines)
}

// itself returns this program as a word for a shell: its name if the shell finds this
// program by that name, otherwise its path.
func itself() string {
	path, err := os.Executable()
	if err != nil {
		return "drawsvc"
	}
	found, err := exec.LookPath("drawsvc")
	if err != nil {
		return quote(path)
	}
	own, ownErr := os.Stat(path)
	other, otherErr := os.Stat(found)
	if ownErr != nil || otherErr != nil || !os.SameFile(own, other) {
		return quote(path)
	}
	return "drawsvc"
}
