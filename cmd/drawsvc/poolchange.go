package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
	"drawsvc/internal/http"
)

// poolChangeCommand is a command that changes one pool: do says what was done
// on what it needs, a B.
func poolChangeCommand[B any](env environment, use, short string, do func(ctx context.Context, on B, id, by string) (string, error)) *cobra.Command {
	var on target
	var by actor
	var pool poolName
	c := &cobra.Command{Use: use, Short: short}
	on.flag(c, env)
	by.flag(c)
	pool.declare(c, true)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return changeOn(c, &on, by, func(ctx context.Context, on B) error {
			done, err := do(ctx, on, string(pool), string(by))
			if err != nil {
				return err
			}
			done, more, hasMore := strings.Cut(done, "\n") // the seed, after a reveal
			_, err = printf(env.stdout, "pool %s %s\n", pool, done)
			if err == nil && hasMore {
				_, err = printf(env.stdout, "%s\n", more)
			}
			return err
		})
	}
	return c
}

// poolPatchCommand is a command that changes members of a pool, at any revision
// or at one.
func poolPatchCommand(env environment, use, short string, change draw.PoolChange, done func(*draw.Pool) string) *cobra.Command {
	return poolPatchWith(env, use, short, &change, func(_ context.Context, _ http.Pools, _ string, patch func() (draw.Pool, error)) (string, error) {
		changed, err := patch()
		return done(&changed), err
	})
}

// poolPatchWith is poolPatchCommand for what is done besides: do calls patch.
func poolPatchWith(env environment, use, short string, change *draw.PoolChange,
	do func(ctx context.Context, on http.Pools, id string, patch func() (draw.Pool, error)) (string, error),
) *cobra.Command {
	return poolPatchBy(env, use, short, change,
		func(ctx context.Context, on http.Pools, id string, patch func(*draw.Round) (draw.Pool, error)) (string, error) {
			return do(ctx, on, id, func() (draw.Pool, error) { return patch(nil) })
		})
}

// poolPatchBy is poolPatchWith where do names the round that the pool is opened
// with, nil for none.
func poolPatchBy(env environment, use, short string, change *draw.PoolChange,
	do func(ctx context.Context, on http.Pools, id string, patch func(*draw.Round) (draw.Pool, error)) (string, error),
) *cobra.Command {
	var revision revisionFlag
	var c *cobra.Command
	c = poolChangeCommand(env, use, short, func(ctx context.Context, on http.Pools, id, by string) (string, error) {
		wanted := *change
		wanted.Revisions = revision.wanted(c)
		return do(ctx, on, id, func(round *draw.Round) (draw.Pool, error) {
			wanted.Round = round
			changed, err := on.ChangePool(ctx, id, wanted, by)
			if err == nil && wanted.Revisions != nil {
				wanted.Revisions = []int64{changed.Revision} // what comes behind is of what was seen here
			}
			return changed, err
		})
	})
	revision.declare(c)
	return c
}

// revisionFlag is the revision that a pool must have to be changed.
type revisionFlag int64

func (r *revisionFlag) declare(c *cobra.Command) {
	c.Flags().Int64Var((*int64)(r), revisionName, 0, "change nothing unless the pool is at this `REVISION`, which pool show says")
}

// wanted is nil, which is every one, without the flag.
func (r *revisionFlag) wanted(c *cobra.Command) []int64 {
	if !c.Flags().Changed(revisionName) {
		return nil
	}
	return []int64{int64(*r)}
}

const revisionName = "if-revision"

func poolStateCommand(env environment, verb string, state draw.State, short string) *cobra.Command {
	return poolPatchCommand(env, verb+" ID", short, draw.PoolChange{State: &state}, func(p *draw.Pool) string { return "is " + string(p.State) })
}

func poolPauseCommand(env environment) *cobra.Command {
	state := draw.StatePaused
	var pause draw.Pause
	wanted := draw.PoolChange{State: &state}
	c := poolPatchWith(env, "pause ID", "Refuse new draws on a pool for a while; known draws are answered", &wanted,
		func(_ context.Context, _ http.Pools, _ string, patch func() (draw.Pool, error)) (string, error) {
			changed, err := patch()
			return "is " + string(changed.State), err
		})
	check := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if slices.ContainsFunc([]string{"retry-after", "notice", "reason"}, c.Flags().Changed) {
			wanted.Pause = &pause
		}
		return check(c, args)
	}
	f := c.Flags()
	f.DurationVar(&pause.RetryAfter, "retry-after", 0, "answer draws 503 paused, which callers retry, for about this `DURATION`; else they are refused for good")
	f.StringVar(&pause.Notice, "notice", "", "`TEXT` that players are shown with each refusal, at most 200 characters")
	f.StringVar(&pause.Reason, "reason", "", "`TEXT` for the history of the pool, which players do not see")
	return c
}

func poolRenameCommand(env environment) *cobra.Command {
	var name string
	c := poolPatchCommand(env, "rename ID --name NAME", "Give a pool another name", draw.PoolChange{Name: &name},
		func(p *draw.Pool) string { return fmt.Sprintf("has the name %q", p.Name) })
	c.Flags().StringVar(&name, "name", "", "new name of the pool")
	return c
}

func poolArchiveCommand(env environment) *cobra.Command {
	archived := true
	return poolPatchCommand(env, "archive ID", "Hide a closed pool from lists; it can still be shown and audited",
		draw.PoolChange{Archived: &archived}, func(*draw.Pool) string { return "is archived" })
}

func poolDeleteCommand(env environment) *cobra.Command {
	var revision revisionFlag
	var c *cobra.Command
	c = poolChangeCommand(env, "delete ID", "Remove a pool that has never issued a unit, with its history",
		func(ctx context.Context, on http.Deleter, id, by string) (string, error) {
			return "is deleted", on.DeletePool(ctx, id, revision.wanted(c), by)
		})
	revision.declare(c)
	return c
}
