package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
)

// demoSeeds gives the demo an identity beside its database file, and seals to it,
// unless recipients or an identity were given or the database is not a file. On a
// server each instance of a demo would have a different identity.
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

// demoVerifiableMax bounds the number of closed verifiable pools of demos: after each
// that was tried to its end, the next pool has another name.
const demoVerifiableMax = 1000

// verifiablePool creates a pool that is committed to its numbers, or finds the one that
// is still open. It returns its id, "" if nobody can seal and unseal seeds.
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

// openCommitted creates, commits and opens a pool, except for the steps that were
// already done. Errors: CodePoolClosed, CodePoolOpen for a pool that was opened without
// a commitment, and CodeSeedUnavailable for one of another identity.
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

// noVerifiableLines is printed for a demo whose seeds nobody can seal and unseal.
const noVerifiableLines = `Verifiable draws: name --seed-recipients and --seed-identity-file to see them here (docs/verifiable-draws.md).

`

// verifiable returns lines that show verifiable draws of a pool, "" for none. token is
// curl's option for the draw token.
func (c *Config) verifiable(pool, url, token string) string {
	if pool == "" {
		return noVerifiableLines
	}
	program := findProgram()
	admin := "DRAWSVC_TOKEN=" + quote(c.adminToken) + " " + program
	switch {
	case c.adminSecret.File != "":
		admin = "DRAWSVC_TOKEN_FILE=" + quote(c.adminSecret.File) + " " + program
	case c.adminToken == "":
		admin = `DRAWSVC_TOKEN="$ADMIN_TOKEN" ` + program
	}
	return strings.NewReplacer("URL", url, " TOKEN", token, "ADMIN", admin, "PROGRAM", program, "POOL", pool).Replace(verifiableLines)
}

// findProgram returns the program as a word of a shell: by its name if that finds it.
func findProgram() string {
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
