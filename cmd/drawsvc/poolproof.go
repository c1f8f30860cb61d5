package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
	"drawsvc/internal/http"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
)

func poolCommitCommand(env environment) *cobra.Command {
	var db database
	var by actor
	var pool poolName
	var to recipientsFlag
	var beacon, escrow string
	w := stock.Committing{}
	c := &cobra.Command{
		Use:   "commit ID --origin HOST --seed-recipients FILE",
		Short: "Commit a paused pool to its numbers, once and for ever, and print the signed note",
		Long: `Commit a paused pool to its numbers, once and for ever, and print the signed note.

From then on every award follows from a seed that was fixed before. The seed is
sealed to the recipients; whoever draws needs --seed-identity-file. Publish the
note before the pool opens. docs/verifiable-draws.md says what that proves.`,
	}
	db.flag(c, env)
	by.flag(c)
	pool.declare(c, true)
	f := c.Flags()
	f.StringVar(&w.Host, "origin", "", "`HOST` that the pool's log is published under; the log is named HOST/POOL")
	to.flag(f)
	f.StringVar(&beacon, "beacon", "none", "public randomness that is mixed in at every opening: none, quicknet, or\n"+
		"'bls-unchained-g1-rfc9380 KEY GENESIS PERIOD' of another drand chain")
	f.BoolVar(&w.StockWhileOpen, "stock-while-open", false, "let stock move while a pool with a beacon is open, which weakens what is proven")
	f.BoolVar(&w.Receipts, "receipts", false, "answer every draw with a receipt, also where none is asked for")
	f.Int64Var(&w.Epochs, "epochs", proof.EpochsDefault, "number of seeds in the chain")
	f.Int64Var(&w.EpochLength, "epoch-length", proof.EpochLengthDefault, "versions of the pool that use one seed")
	f.StringVar(&escrow, "escrow", "", "age `RECIPIENT` who can unseal the seed besides, such as an auditor")
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		w.PoolID = string(pool)
		if w.Beacon, err = proof.ParseBeacon(beacon); err != nil {
			return usageError{fmt.Errorf("--beacon: %s", message(err))}
		}
		if w.Recipients, w.Escrow, err = sealTo(&to, escrow); err != nil {
			return err
		}
		if err := proof.CheckOrigin(w.Host + "/" + w.PoolID); err != nil {
			return usageError{fmt.Errorf("--origin: %s", message(err))}
		}
		return changing(c, &db, by, func(ctx context.Context, store *stock.Store) error {
			w.Actor = string(by)
			note, err := store.CommitPool(ctx, w)
			if err != nil {
				return err
			}
			_, err = env.stdout.Write(note)
			return err
		})
	}
	return c
}

// sealTo reads whom the secrets of a commitment are sealed to.
func sealTo(to *recipientsFlag, escrow string) (recipients, besides *proof.Recipients, err error) {
	if recipients, err = to.read(); err != nil {
		return nil, nil, err
	}
	if recipients == nil {
		return nil, nil, usageError{errors.New("--seed-recipients is missing: seeds are kept sealed alone")}
	}
	if escrow != "" {
		if besides, err = proof.ParseRecipients(escrow); err != nil {
			return nil, nil, usageError{fmt.Errorf("--escrow: %s", message(err))}
		}
	}
	return recipients, besides, nil
}

// unsealedBy is the database with the identities of the flag, nil without the
// flag. A service unseals by its own.
func unsealedBy(identity *identityFlag, on http.Pools, what string) (*stock.Store, error) {
	by, err := identity.read()
	if err != nil || by == nil {
		return nil, err
	}
	db, ok := on.(onDatabase)
	if !ok {
		return nil, alone(what)
	}
	db.Unseal(by)
	return db.Store, nil
}

func poolCloseCommand(env environment) *cobra.Command {
	closed := draw.StateClosed
	var identity identityFlag
	var reveal bool
	c := poolPatchWith(env, "close ID", "Refuse new draws on a pool for ever; known draws are answered", draw.PoolChange{State: &closed},
		func(ctx context.Context, on http.Pools, id string, patch func() (draw.Pool, error)) (string, error) {
			db, err := unsealedBy(&identity, on, "pool close --seed-identity-file")
			switch {
			case err != nil:
				return "", err
			case reveal && db == nil:
				return "", usageError{errors.New("--reveal needs --seed-identity-file")}
			case reveal: // what cannot be revealed is not closed for it
				err = db.CheckSeeds(ctx, id)
			}
			if err != nil {
				return "", err
			}
			if _, err := patch(); err != nil || db == nil {
				return "is closed", err
			}
			if reveal {
				line, err := db.Reveal(ctx, id)
				return "is closed\n" + strings.TrimSuffix(string(line), "\n"), err
			}
			if err := db.Checkpoint(ctx, id); draw.CodeOf(err) != draw.CodeNotFound {
				return "is closed", err
			}
			return "is closed", nil
		})
	identity.flag(c.Flags())
	c.Flags().BoolVar(&reveal, "reveal", false, "reveal the seed of a committed pool at once, and print it")
	return c
}

func poolRevealCommand(env environment) *cobra.Command {
	var identity identityFlag
	var db database
	var pool poolName
	c := &cobra.Command{Use: "reveal ID --seed-identity-file FILE", Short: "Reveal the seed of a closed pool, for ever, and print it"}
	db.flag(c, env)
	pool.declare(c, true)
	identity.flag(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		by, err := identity.read()
		if err != nil {
			return err
		}
		return db.with(c, stock.Options{Identities: by}, func(ctx context.Context, store *stock.Store) error {
			line, err := store.Reveal(ctx, string(pool))
			if err != nil {
				return err
			}
			_, err = env.stdout.Write(line)
			return err
		})
	}
	return c
}

func poolEraseSaltsCommand(env environment) *cobra.Command {
	var identity identityFlag
	var db database
	var by actor
	var pool poolName
	var dir string
	c := &cobra.Command{
		Use:   "erase-salts ID --proof DIR --seed-identity-file FILE",
		Short: "Destroy the secret of a revealed pool's tags, for ever: nobody can tell who they stand for",
		Long: `Destroy the secret of a revealed pool's tags, for ever: nobody can tell any more
which tag of the public log stands for whom. Neither the log nor a receipt can be
written again, so DIR must hold all of it: the folder of pool export-proof, or that
of the pool within the publisher's. The rows of the pool still name who drew;
drawsvc user forget replaces users there.`,
	}
	db.flag(c, env)
	by.flag(c)
	pool.declare(c, true)
	identity.flag(c.Flags())
	c.Flags().StringVar(&dir, "proof", "", "`DIR` that holds the pool's whole log and its reveal")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if dir == "" {
			return usageError{errors.New("--proof is missing: what is not published by then never is")}
		}
		identities, err := identity.read()
		if err != nil {
			return err
		}
		return changing(c, &db, by, func(ctx context.Context, store *stock.Store) error {
			store.Unseal(identities)
			return store.EraseSalts(ctx, string(pool), os.DirFS(dir), string(by))
		})
	}
	return c
}

func poolExportProofCommand(env environment) *cobra.Command {
	var identity identityFlag
	var db database
	var pool poolName
	c := &cobra.Command{
		Use:   "export-proof --pool ID DIR",
		Short: "Write the files by which outsiders verify a committed pool",
	}
	db.flag(c, env)
	pool.declare(c, false)
	c.Args = arguments(1)
	identity.flag(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		identities, err := identity.read()
		if err != nil {
			return err
		}
		return db.with(c, stock.Options{Identities: identities}, func(ctx context.Context, store *stock.Store) error {
			return exportProof(ctx, store, string(pool), args[0])
		})
	}
	return c
}

// The modes of what is published: a web server of another account shows it. They are
// set, because the files that the process creates are its user's alone.
const (
	publicFile   = 0o644
	publicFolder = 0o755
)

// exportProof writes the files of a pool. Each is replaced by a rename, so that
// none is ever half of one.
func exportProof(ctx context.Context, store *stock.Store, pool, dir string) error {
	if _, err := os.Stat(dir); err != nil {
		if err := errors.Join(os.MkdirAll(dir, publicFolder), os.Chmod(dir, publicFolder)); err != nil { //nolint:gosec // it is for everybody
			return firstOf(err)
		}
	}
	log, err := os.CreateTemp(dir, ".log-*")
	if err != nil {
		return err
	}
	defer os.Remove(log.Name()) //nolint:errcheck // it is there no more once it was renamed
	files, err := store.ExportProof(ctx, pool, log)
	if err := errors.Join(err, log.Chmod(publicFile), log.Close()); err != nil {
		return firstOf(err)
	}
	if err := os.Rename(log.Name(), filepath.Join(dir, "log.jsonl")); err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"commitment": files.Commitment, "key": files.Key, "checkpoints": files.Checkpoints, "checkpoint": files.Checkpoint, "reveal": files.Reveal,
	} {
		if len(content) == 0 { // not revealed yet
			continue
		}
		path := filepath.Join(dir, name)
		err := os.WriteFile(path+".new", content, publicFile)                       //nolint:gosec // it is for everybody
		if err := errors.Join(err, os.Chmod(path+".new", publicFile)); err != nil { //nolint:gosec // it is for everybody
			return firstOf(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			return err
		}
	}
	return nil
}
