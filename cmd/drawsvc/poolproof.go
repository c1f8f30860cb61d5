package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
	"drawsvc/internal/http"
	"drawsvc/internal/stock"
)

// revealer reveals the seeds of pools, on the database or over HTTP.
type revealer interface {
	// CheckSeeds says whether the seed of a pool can be revealed once it is closed.
	CheckSeeds(ctx context.Context, poolID string) error
	Reveal(ctx context.Context, poolID string) ([]byte, error)
}

func poolCloseCommand(env environment) *cobra.Command {
	closed := draw.StateClosed
	var identity identityFlag
	var reveal bool
	c := poolPatchWith(env, "close ID", "Refuse new draws on a pool for ever; known draws are answered", &draw.PoolChange{State: &closed},
		func(ctx context.Context, on http.Pools, id string, patch func() (draw.Pool, error)) (string, error) {
			unsealed, err := identity.unseal(on)
			if err != nil {
				return "", err
			}
			db, local := on.(onDatabase)
			seeds, can := on.(revealer)
			switch {
			case reveal && local && !unsealed:
				return "", usageError{errors.New("--reveal needs --seed-identity-file")}
			case reveal && can: // what cannot be revealed is not closed for it
				err = seeds.CheckSeeds(ctx, id)
			}
			if err != nil {
				return "", err
			}
			if _, err := patch(); err != nil {
				return "", err
			}
			if reveal {
				line, err := seeds.Reveal(ctx, id)
				return "is closed\n" + strings.TrimSuffix(string(line), "\n"), err
			}
			if !unsealed {
				return "is closed", nil
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
	var on target
	var pool poolName
	c := &cobra.Command{
		Use:   "reveal ID --seed-identity-file FILE",
		Short: "Reveal the seed of a closed pool, for ever, and print it",
		Long: `Reveal the seed of a closed pool, for ever, and print it. With --server the service
unseals it, and needs no --seed-identity-file here.`,
	}
	on.flag(c, env)
	pool.declare(c, true)
	identity.flag(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		return working(c, &on, stock.Options{}, func(ctx context.Context, on revealer) error {
			if _, err := identity.unseal(on); err != nil {
				return err
			}
			line, err := on.Reveal(ctx, string(pool))
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
		if err := by.check(); err != nil {
			return err
		}
		identities, err := identity.read()
		if err != nil {
			return err
		}
		return db.with(c, stock.Options{Identities: identities}, func(ctx context.Context, store *stock.Store) error {
			folder, err := openFolder(dir)
			if err != nil {
				return err
			}
			defer folder.Close()
			return store.EraseSalts(ctx, string(pool), folder.FS(), string(by))
		})
	}
	return c
}
