package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
)

// poolChangeCommand is a command that changes one pool: do says what was done.
func poolChangeCommand(env environment, use, short string, do func(ctx context.Context, store *stock.Store, id, by string) (string, error)) *cobra.Command {
	var db database
	var by actor
	var pool poolName
	c := &cobra.Command{Use: use, Short: short}
	db.flag(c, env)
	by.flag(c)
	pool.declare(c, true)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := pool.check(); err != nil {
			return err
		}
		return changing(c, &db, by, func(ctx context.Context, store *stock.Store) error {
			done, err := do(ctx, store, string(pool), string(by))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(env.stdout, "pool %s %s\n", pool, done)
			return err
		})
	}
	return c
}

func poolPauseCommand(env environment) *cobra.Command {
	paused := draw.StatePaused
	return poolChangeCommand(env, "pause ID", "Refuse new draws on a pool for a while; known draws are answered",
		func(ctx context.Context, store *stock.Store, id, by string) (string, error) {
			_, err := store.ChangePool(ctx, id, draw.PoolChange{State: &paused}, by)
			return "is paused", err
		})
}

func poolRenameCommand(env environment) *cobra.Command {
	var name string
	c := poolChangeCommand(env, "rename ID --name NAME", "Give a pool another name",
		func(ctx context.Context, store *stock.Store, id, by string) (string, error) {
			changed, err := store.ChangePool(ctx, id, draw.PoolChange{Name: &name}, by)
			return fmt.Sprintf("has the name %q", changed.Name), err
		})
	c.Flags().StringVar(&name, "name", "", "new name of the pool")
	return c
}

func poolArchiveCommand(env environment) *cobra.Command {
	archived := true
	return poolChangeCommand(env, "archive ID", "Hide a closed pool from lists; it can still be shown and audited",
		func(ctx context.Context, store *stock.Store, id, by string) (string, error) {
			_, err := store.ChangePool(ctx, id, draw.PoolChange{Archived: &archived}, by)
			return "is archived", err
		})
}

func poolDeleteCommand(env environment) *cobra.Command {
	return poolChangeCommand(env, "delete ID", "Remove a pool that has never issued a unit, with its history",
		func(ctx context.Context, store *stock.Store, id, by string) (string, error) {
			return "is deleted", store.DeletePool(ctx, id, by)
		})
}
