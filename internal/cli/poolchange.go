package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/setting"
)

// poolChange is a command that changes one pool, at any revision or at one.
type poolChange struct {
	*command
	revision int64
	wanted   api.PoolChange
}

func newPoolChange(env setting.Environment, use, short string) *poolChange {
	c := &poolChange{command: newCommand(env, use, short, acting, namingPool)}
	c.Flags().Int64Var(&c.revision, revisionName, 0, "change nothing unless the pool is at this `REVISION`, which pool show says")
	return c
}

const revisionName = "if-revision"

// revisions are those that the pool may have, nil for every one.
func (c *poolChange) revisions() []int64 {
	if !c.Flags().Changed(revisionName) {
		return nil
	}
	return []int64{c.revision}
}

// patch changes the pool. What is changed next is of what was seen here.
func (c *poolChange) patch(ctx context.Context, on *api.Client) (api.Pool, error) {
	changed, err := on.ChangePool(ctx, string(c.pool), c.revisions(), &c.wanted)
	if err == nil {
		c.revision = changed.Revision
	}
	return changed, err
}

// says sets what the command does, and what it says of it: lines, the first about the
// pool.
func (c *poolChange) says(check func() error, do func(ctx context.Context, on *api.Client) (string, error)) *cobra.Command {
	return c.does(func([]string) error {
		if check == nil {
			return nil
		}
		return check()
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		done, err := do(ctx, on)
		if err != nil {
			return err
		}
		done, more, hasMore := strings.Cut(done, "\n") // the seed, after a reveal
		_, err = setting.Printf(c.env.Stdout, "pool %s %s\n", c.pool, done)
		if err == nil && hasMore {
			_, err = setting.Printf(c.env.Stdout, "%s\n", more)
		}
		return err
	})
}

// patches is says for a command that changes the pool only.
func (c *poolChange) patches(check func() error, done func(*api.Pool) string) *cobra.Command {
	return c.says(check, func(ctx context.Context, on *api.Client) (string, error) {
		changed, err := c.patch(ctx, on)
		return done(&changed), err
	})
}

func poolPauseCommand(env setting.Environment) *cobra.Command {
	c := newPoolChange(env, "pause ID", "Refuse new draws on a pool for a while; known draws are answered")
	c.wanted.SetState(draw.StatePaused)
	var pause draw.Pause
	f := c.Flags()
	f.DurationVar(&pause.RetryAfter, "retry-after", 0, "answer draws 503 paused, which callers retry, for about this `DURATION`; else they are refused for good")
	f.StringVar(&pause.Notice, "notice", "", "`TEXT` that players are shown with each refusal, at most 200 characters")
	f.StringVar(&pause.Reason, "reason", "", "`TEXT` for the history of the pool, which players do not see")
	return c.patches(func() error {
		if slices.ContainsFunc([]string{"retry-after", "notice", "reason"}, f.Changed) {
			c.wanted.SetPause(&pause)
		}
		return nil
	}, func(p *api.Pool) string { return "is " + string(p.State) })
}

func poolRenameCommand(env setting.Environment) *cobra.Command {
	c := newPoolChange(env, "rename ID --name NAME", "Give a pool another name")
	var name string
	c.Flags().StringVar(&name, "name", "", "new name of the pool")
	return c.patches(func() error { c.wanted.Name = api.RawText(&name); return nil },
		func(p *api.Pool) string { return fmt.Sprintf("has the name %q", p.Name) })
}

func poolArchiveCommand(env setting.Environment) *cobra.Command {
	c := newPoolChange(env, "archive ID", "Hide a closed pool from lists; it can still be shown and audited")
	c.wanted.Archived = new(true)
	return c.patches(nil, func(*api.Pool) string { return "is archived" })
}

func poolDeleteCommand(env setting.Environment) *cobra.Command {
	c := newPoolChange(env, "delete ID", "Remove a pool that has never issued a unit, with its history")
	return c.says(nil, func(ctx context.Context, on *api.Client) (string, error) {
		return "is deleted", on.DeletePool(ctx, string(c.pool), c.revisions())
	})
}

func poolCloseCommand(env setting.Environment) *cobra.Command {
	c := newPoolChange(env, "close ID", "Refuse new draws on a pool for ever; known draws are answered")
	c.wanted.SetState(draw.StateClosed)
	var identity setting.IdentityFlag
	var reveal bool
	identity.Flag(c.Flags())
	c.Flags().BoolVar(&reveal, "reveal", false, "reveal the seed of a committed pool at once, and print it")
	return c.says(func() error {
		unseals, err := c.on.takeIdentities(&identity)
		if err != nil {
			return err
		}
		remote, err := c.on.isRemote(c.Flags())
		if err == nil && reveal && !remote && !unseals {
			err = setting.AsUsage(errors.New("--reveal needs --seed-identity-file"))
		}
		c.on.local.SignsClosed = unseals && !reveal
		return err
	}, func(ctx context.Context, on *api.Client) (string, error) {
		if reveal { // what cannot be revealed is not closed for it
			if err := on.CheckSeeds(ctx, string(c.pool)); err != nil {
				return "", err
			}
		}
		if _, err := c.patch(ctx, on); err != nil || !reveal {
			return "is closed", err
		}
		line, err := on.Reveal(ctx, string(c.pool))
		return "is closed\n" + strings.TrimSuffix(string(line), "\n"), err
	})
}

func poolSkipCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "skip ID --to VERSION", "Let versions of a paused, committed pool pass without an award", acting, namingPool)
	c.Long = `Let versions of a paused, committed pool pass without an award.

Use it before a pool is opened again after a restore or a failover that lost
versions: those who saw the lost draws know what the numbers of their versions
give. VERSION is the highest version that was ever answered, or more. Every
skipped version stands in the history and in the public log, and verifiers count
them. At most 1,000,000 are skipped at once.`
	c.Example = "  drawsvc pool skip spring --to 4711 --reason 'restored from the backup of 02:00'"
	var to int64
	var reason string
	c.Flags().Int64Var(&to, "to", 0, "the last `VERSION` to skip")
	c.Flags().StringVar(&reason, "reason", "", "`TEXT` for the history")
	return c.does(func([]string) error {
		if to == 0 {
			return setting.AsUsage(errors.New("--to is missing: the last version to skip"))
		}
		return nil
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		skipped, err := on.SkipVersions(ctx, string(c.pool), to, reason)
		if err != nil {
			return err
		}
		_, err = setting.Printf(env.Stdout, "pool %s: %s skipped\n", c.pool, counted(skipped, "version"))
		return err
	})
}

// toSeconds is a time of an answer, to the second.
func toSeconds(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return at.UTC().Format(time.RFC3339)
}
