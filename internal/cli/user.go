package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/setting"
)

func userCommand(env setting.Environment) *cobra.Command {
	return newGroup("user", "Show a user's counts, or replace the user by a pseudonym", userShowCommand(env), userForgetCommand(env))
}

func userForgetCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "forget USER (--pool ID | --all)", "Replace a user by a pseudonym in all awards", acting)
	c.Long = `Replace a user by a pseudonym in all awards of one pool, or of all pools.
Versions, counts and audits stay as they are. The pseudonym is a keyed hash; the
key is made for this run and kept nowhere. Stop the user's draws first: what is
won later is kept under the user's name. The command can be run again.

In a pool that is committed to its numbers the awards bear the tags of the pool's
public log instead, which stays as it is. That needs --seed-identity-file, and a
closed pool where limits or a guarantee have counted the user.`
	c.Args = arguments(1)
	var pool string
	var all bool
	var identity setting.IdentityFlag
	c.Flags().StringVar(&pool, "pool", "", "`ID` of the pool")
	c.Flags().BoolVar(&all, "all", false, "erase the user in all pools, archived ones too")
	identity.Flag(c.Flags())
	return c.does(func(args []string) error {
		if all == (pool != "") {
			return setting.AsUsage(errors.New("give --pool ID or --all, and not both"))
		}
		if err := draw.CheckUser(args[0]); err != nil {
			return err
		}
		_, err := c.on.takeIdentities(&identity)
		return err
	}, func(ctx context.Context, on *api.Client, args []string) (err error) {
		pools := []string{pool}
		if all {
			if pools, err = on.PoolIDs(ctx); err != nil {
				return err
			}
		}
		return eraseUser(ctx, env, on, pools, args[0])
	})
}

// eraseUser replaces a user in each pool in turn. If a committed pool refuses, the
// other pools are still processed.
func eraseUser(ctx context.Context, env setting.Environment, on *api.Client, pools []string, user string) error {
	var refused error
	for _, id := range pools {
		awards, err := on.EraseUser(ctx, id, user)
		if code := draw.CodeOf(err); code == draw.CodePoolOpen || code == draw.CodeSeedUnavailable {
			refused = errors.Join(refused, fmt.Errorf("pool %s: %s", id, setting.Message(err)))
			continue
		}
		if err != nil {
			return err
		}
		if _, err := setting.Printf(env.Stdout, "pool %s: the user is replaced in %s\n", id, counted(awards, "award")); err != nil {
			return err
		}
	}
	return refused
}

func userShowCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "show USER --pool ID", "Show where a user stands in a pool whose rules count draws or wins", printing, ofPool)
	c.Args = arguments(1)
	return c.does(func(args []string) error { return draw.CheckUser(args[0]) }, func(ctx context.Context, on *api.Client, args []string) error {
		found, err := on.User(ctx, string(c.pool), args[0])
		if err != nil {
			return err
		}
		if c.output == outputJSON {
			return api.WriteLine(env.Stdout, &found)
		}
		return printStanding(env.Stdout, string(c.pool), args[0], &found)
	})
}

func printStanding(w io.Writer, pool, user string, s *api.User) error {
	t := newTable(w)
	_, _ = setting.Printf(t, "pool %s, user %s: misses %d%s%s\n\n", pool, user, s.Misses, guaranteed(s), blocked(s))
	fmt.Fprintln(t, "limit\tprize\tper\tmax\tused\tleft\tresets")
	for i := range s.Limits {
		l := &s.Limits[i]
		per := "ever"
		if l.Per != nil {
			per = *l.Per
		}
		_, _ = setting.Printf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%s\n", l.Of, orDash(&l.Prize), per, l.Max, l.Used, l.Left, timeOrDash(l.ResetsAt))
	}
	return t.Flush()
}

// guaranteed returns the part of a user's line about a guarantee.
func guaranteed(s *api.User) string {
	if s.GuaranteedIn == nil {
		return ""
	}
	return ", guaranteed in " + strconv.FormatInt(*s.GuaranteedIn, 10)
}

// blocked returns the text about a user whom the rules block.
func blocked(s *api.User) string {
	if !s.Blocked {
		return ""
	}
	return ", blocked"
}
