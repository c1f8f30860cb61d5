package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
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
	f.StringVar(&beacon, "beacon", "none", "public randomness that is mixed in: none")
	f.Int64Var(&w.Epochs, "epochs", proof.EpochsDefault, "number of seeds in the chain")
	f.Int64Var(&w.EpochLength, "epoch-length", proof.EpochLengthDefault, "versions of the pool that use one seed")
	f.StringVar(&escrow, "escrow", "", "age `RECIPIENT` who can unseal the seed besides, such as an auditor")
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		if err := pool.check(); err != nil {
			return err
		}
		w.PoolID = string(pool)
		if w.Recipients, w.Escrow, err = sealTo(&to, beacon, escrow); err != nil {
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
func sealTo(to *recipientsFlag, beacon, escrow string) (recipients, besides *proof.Recipients, err error) {
	if beacon != "none" {
		return nil, nil, usageError{errors.New("--beacon must be none")}
	}
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

// unsealing is a command that changes one pool and may have to unseal what it is
// committed to.
func unsealing(env environment, use, short string, do func(ctx context.Context, store *stock.Store, id, by string, unseals bool) (string, error)) *cobra.Command {
	var identity identityFlag
	var db database
	var by actor
	var pool poolName
	c := &cobra.Command{Use: use, Short: short}
	db.flag(c, env)
	by.flag(c)
	pool.declare(c, true)
	identity.flag(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := pool.check(); err != nil {
			return err
		}
		identities, err := identity.read()
		if err != nil {
			return err
		}
		if err := by.check(); err != nil {
			return err
		}
		return db.with(c, stock.Options{Identities: identities}, func(ctx context.Context, store *stock.Store) error {
			done, err := do(ctx, store, string(pool), string(by), identities != nil)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(env.stdout, done)
			return err
		})
	}
	return c
}

func poolOpenCommand(env environment) *cobra.Command {
	open := draw.StateOpen
	return unsealing(env, "open ID", "Let a pool be drawn from",
		func(ctx context.Context, store *stock.Store, id, by string, unseals bool) (string, error) {
			if unseals { // a seed that cannot be unsealed shows before draws are refused
				if err := store.CheckSeeds(ctx, id); err != nil && draw.CodeOf(err) != draw.CodeProofNotFound {
					return "", err
				}
			}
			_, err := store.ChangePool(ctx, id, draw.PoolChange{State: &open}, by)
			return fmt.Sprintf("pool %s is open\n", id), err
		})
}

func poolCloseCommand(env environment) *cobra.Command {
	closed := draw.StateClosed
	var reveal bool
	c := unsealing(env, "close ID", "Refuse new draws on a pool for ever; known draws are answered",
		func(ctx context.Context, store *stock.Store, id, by string, unseals bool) (string, error) {
			if reveal && !unseals {
				return "", usageError{errors.New("--reveal needs --seed-identity-file")}
			}
			if reveal { // what cannot be revealed is not closed for it
				if err := store.CheckSeeds(ctx, id); err != nil {
					return "", err
				}
			}
			if _, err := store.ChangePool(ctx, id, draw.PoolChange{State: &closed}, by); err != nil {
				return "", err
			}
			done := fmt.Sprintf("pool %s is closed\n", id)
			if reveal {
				line, err := store.Reveal(ctx, id)
				return done + string(line), err
			}
			if !unseals {
				return done, nil
			}
			if err := store.Checkpoint(ctx, id); err != nil && draw.CodeOf(err) != draw.CodeProofNotFound {
				return "", err
			}
			return done, nil
		})
	c.Flags().BoolVar(&reveal, "reveal", false, "reveal the seed of a committed pool at once, and print it")
	return c
}

func poolRevealCommand(env environment) *cobra.Command {
	return unsealing(env, "reveal ID --seed-identity-file FILE", "Reveal the seed of a closed pool, for ever, and print it",
		func(ctx context.Context, store *stock.Store, id, _ string, _ bool) (string, error) {
			line, err := store.Reveal(ctx, id)
			return string(line), err
		})
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
	c.Args = cobra.ExactArgs(1)
	identity.flag(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := pool.check(); err != nil {
			return err
		}
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

// exportProof writes the files of a pool. Each is replaced by a rename, so that
// none is ever half of one.
func exportProof(ctx context.Context, store *stock.Store, pool, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // what is published is for everybody
		return err
	}
	log, err := os.CreateTemp(dir, ".log-*")
	if err != nil {
		return err
	}
	defer os.Remove(log.Name()) //nolint:errcheck // it is there no more once it was renamed
	files, err := store.ExportProof(ctx, pool, log)
	if err := errors.Join(err, log.Chmod(0o644), log.Close()); err != nil {
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
		if err := os.WriteFile(path+".new", content, 0o644); err != nil { //nolint:gosec // what is published is for everybody
			return err
		}
		if err := os.Rename(path+".new", path); err != nil {
			return err
		}
	}
	return nil
}
