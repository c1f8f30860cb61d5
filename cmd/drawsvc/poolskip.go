package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

// versionSkipper skips versions of a committed pool.
type versionSkipper interface {
	SkipVersions(ctx context.Context, poolID string, to int64, reason, actor string) (skipped int64, err error)
}

func poolSkipCommand(env environment) *cobra.Command {
	var on target
	var by actor
	var pool poolName
	var to int64
	var reason string
	c := &cobra.Command{
		Use:   "skip ID --to VERSION",
		Short: "Let versions of a paused, committed pool pass without an award",
		Long: `Let versions of a paused, committed pool pass without an award.

Use it before a pool is opened again after a restore or a failover that lost
versions: those who saw the lost draws know what the numbers of their versions
give. VERSION is the highest version that was ever answered, or more. Every
skipped version stands in the history and in the public log, and verifiers count
them. At most 1,000,000 are skipped at once.`,
		Example: "  drawsvc pool skip spring --to 4711 --reason 'restored from the backup of 02:00'",
	}
	on.flag(c, env)
	by.flag(c)
	pool.declare(c, true)
	c.Flags().Int64Var(&to, "to", 0, "the last `VERSION` to skip")
	c.Flags().StringVar(&reason, "reason", "", "`TEXT` for the history")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if to == 0 {
			return usageError{errors.New("--to is missing: the last version to skip")}
		}
		return changeOn(c, &on, by, func(ctx context.Context, on versionSkipper) error {
			skipped, err := on.SkipVersions(ctx, string(pool), to, reason, string(by))
			if err != nil {
				return err
			}
			_, err = printf(env.stdout, "pool %s: %s skipped\n", pool, counted(skipped, "version"))
			return err
		})
	}
	return c
}
