package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
	"drawsvc/internal/http"
	"drawsvc/internal/stock"
)

func userCommand(env environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "user",
		Short: "Work on what is kept of a user",
		Args:  noArguments,
		RunE:  needsSubcommand,
	}
	c.AddCommand(userShowCommand(env), userForgetCommand(env))
	return c
}

func userForgetCommand(env environment) *cobra.Command {
	var on target
	var by actor
	var pool string
	var all bool
	var identity identityFlag
	c := &cobra.Command{
		Use:   "forget USER (--pool ID | --all)",
		Short: "Replace a user by a pseudonym in all awards",
		Long: `Replace a user by a pseudonym in all awards of one pool, or of all pools.
Versions, counts and audits stay as they are. The pseudonym is a keyed hash; the
key is made for this run and kept nowhere. Stop the user's draws first: what is
won later is kept under the user's name. The command can be run again.

In a pool that is committed to its numbers the awards bear the tags of the pool's
public log instead, which stays as it is. That needs --seed-identity-file, and a
closed pool where limits or a guarantee have counted the user.`,
		Args: arguments(1),
	}
	on.flag(c, env)
	by.flag(c)
	c.Flags().StringVar(&pool, "pool", "", "`ID` of the pool")
	c.Flags().BoolVar(&all, "all", false, "erase the user in all pools, archived ones too")
	identity.flag(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		if all == (pool != "") {
			return usageError{errors.New("give --pool ID or --all, and not both")}
		}
		if err := draw.CheckUser(args[0]); err != nil {
			return err
		}
		return changeOn(c, &on, by, func(ctx context.Context, on eraser) error {
			if _, err := identity.unseal(on); err != nil {
				return err
			}
			pools := []string{pool}
			if all {
				var err error
				if pools, err = on.PoolIDs(ctx); err != nil {
					return err
				}
			}
			return eraseUser(ctx, env, on, pools, args[0], string(by))
		})
	}
	return c
}

// eraser erases users from pools.
type eraser interface {
	PoolIDs(ctx context.Context) ([]string, error)
	http.Eraser
}

// EraseUser implements http.Eraser. The key of the pseudonym is kept nowhere.
func (d onDatabase) EraseUser(ctx context.Context, poolID, user, actor string) (int64, error) {
	return d.Store.EraseUser(ctx, poolID, user, stock.Pseudonym([]byte(rand.Text()), poolID, user), actor)
}

// eraseUser replaces a user in one pool after another. A committed pool that refuses
// keeps no other from its turn.
func eraseUser(ctx context.Context, env environment, on eraser, pools []string, user, by string) error {
	var refused error
	for _, id := range pools {
		awards, err := on.EraseUser(ctx, id, user, by)
		if code := draw.CodeOf(err); code == draw.CodePoolOpen || code == draw.CodeSeedUnavailable {
			refused = errors.Join(refused, fmt.Errorf("pool %s: %s", id, message(err)))
			continue
		}
		if err != nil {
			return err
		}
		if _, err := printf(env.stdout, "pool %s: the user is replaced in %s\n", id, counted(awards, "award")); err != nil {
			return err
		}
	}
	return refused
}
