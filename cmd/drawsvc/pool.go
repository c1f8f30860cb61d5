package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
	"drawsvc/internal/http"
	"drawsvc/internal/lockmode"
)

func poolCommand(env environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "pool",
		Short: "Make, list and change pools",
		Long: `Make, list and change pools, on the database or, with --server, over HTTP.

What is changed here counts from the next draw on, also for instances that run
on the same server database. An SQLite database belongs to one process: while
` + "`drawsvc serve`" + ` has it, list and show work, and changes need --server.`,
		Args: noArguments,
		RunE: needsSubcommand,
	}
	c.AddCommand(poolCreateCommand(env), poolListCommand(env), poolShowCommand(env),
		poolOpenCommand(env),
		poolPauseCommand(env),
		poolCloseCommand(env),
		poolRenameCommand(env), poolArchiveCommand(env), poolDeleteCommand(env),
		poolCommitCommand(env), poolRevealCommand(env), poolSkipCommand(env), poolExportProofCommand(env), poolEraseSaltsCommand(env),
	)
	return c
}

// poolName is the pool that a command is about: its argument, or --pool.
type poolName string

// argumentIsPool is the annotation of a command whose argument is a pool.
const argumentIsPool = "drawsvc_argument_is_pool"

// declare adds the flag, and the argument when the command takes one. What cannot
// be a pool is refused before the command begins.
func (p *poolName) declare(c *cobra.Command, takesArgument bool) {
	c.PreRunE = func(*cobra.Command, []string) error { return p.check() }
	usage := "`ID` of the pool"
	c.Args = noArguments
	if takesArgument {
		usage += ", instead of the argument"
		c.Args = p.argument
		c.Annotations = map[string]string{argumentIsPool: "true"}
	}
	c.Flags().StringVar((*string)(p), "pool", "", usage)
}

// optional adds the flag of a command that can do without a pool.
func (p *poolName) optional(c *cobra.Command, usage string) {
	c.Args = noArguments
	c.PreRunE = func(*cobra.Command, []string) error {
		if *p == "" {
			return nil
		}
		return p.check()
	}
	c.Flags().StringVar((*string)(p), "pool", "", usage)
}

// argument is cobra's check of arguments. It runs before the environment is
// read, so that an argument beats it as a flag does.
func (p *poolName) argument(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if err := arguments(1)(c, args); err != nil {
		return err
	}
	if c.Flags().Changed("pool") {
		return errors.New("name the pool once: as the argument or with --pool")
	}
	return c.Flags().Set("pool", args[0])
}

// check refuses what cannot be a pool.
func (p *poolName) check() error { return draw.CheckID("the pool's id", string(*p)) }

func poolCreateCommand(env environment) *cobra.Command {
	var on target
	var pool poolName
	var by actor
	var name, mode, state, rulesFile string
	var prizes prizeFlags
	c := &cobra.Command{
		Use:   "create ID",
		Short: "Make a pool with its prizes, whole or not at all",
		Example: `  drawsvc pool create spring --name 'Spring draw' \
    --prize 'id=gold,name=Gold coin,value=19.90,stock=10' --prize id=silver,stock=90`,
	}
	on.flag(c, env)
	by.flag(c)
	pool.declare(c, true)
	f := c.Flags()
	f.StringVar(&name, "name", "", "name of the pool (default its id)")
	f.StringVar(&state, "state", string(draw.StateOpen), "`STATE` of the new pool: open or paused")
	f.StringVar(&mode, "mode", "", "the pool's own `MODE`: "+strings.Join(lockmode.Names(), ", ")+
		"\n(default the service's; not taken from the environment, where it is the service's)")
	f.Lookup("mode").Annotations = map[string][]string{noVariable: {"true"}}
	f.StringVar(&rulesFile, "rules", "", "`FILE` of the pool's rules, - for the standard input")
	f.Var(&prizes, "prize", "a prize, as id=ID,stock=N[,name=NAME][,value=AMOUNT][,kind=blank]; once for each\n"+
		"(a blank is a losing ticket; one without stock is endless, for rules)\n"+
		"(default name its id; a name that holds a comma: 'id=a,\"name=A, B\",stock=1')")
	c.RunE = func(c *cobra.Command, _ []string) error {
		wanted := draw.Pool{ID: string(pool), Name: name, State: draw.State(state), Mode: mode, Prizes: prizes}
		if wanted.Name == "" {
			wanted.Name = wanted.ID
		}
		if err := errors.Join(wanted.Check(), draw.CheckStart(wanted.State)); err != nil {
			return err
		}
		if mode != "" && !slices.Contains(lockmode.Names(), mode) {
			return usageError{fmt.Errorf("--mode must be one of %s", strings.Join(lockmode.Names(), ", "))}
		}
		if rulesFile != "" {
			var err error
			if wanted.Rules, err = readRules(rulesFile, env); err != nil {
				return err
			}
			if err := wanted.Rules.Check(wanted.Prizes); err != nil {
				return ofFile(rulesFile, err)
			}
		}
		return changeOn(c, &on, by, func(ctx context.Context, pools http.Pools) error {
			made, err := pools.CreatePool(ctx, wanted, string(by))
			if err != nil {
				return err
			}
			_, err = printf(env.stdout, "pool %s is made and %s: prizes %d, units %d\n", made.ID, made.State, len(made.Prizes), unitsOf(&made).stocked)
			return err
		})
	}
	return c
}

// pagePools is how many pools are read at once.
const pagePools = 100

func poolListCommand(env environment) *cobra.Command {
	var on target
	var output output
	var archived bool
	c := &cobra.Command{Use: "list", Short: "List all pools that are not archived", Args: noArguments}
	on.flag(c, env)
	output.flag(c.Flags())
	c.Flags().BoolVar(&archived, "archived", false, "archived pools too")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return readOn(c, &on, func(ctx context.Context, pools http.Pools) error {
			all, err := listPools(ctx, pools, archived)
			if err != nil {
				return err
			}
			return printPools(env.stdout, output, all)
		})
	}
	return c
}

// listPools reads all pools, archived ones only where they are asked for.
func listPools(ctx context.Context, pools http.Pools, archived bool) (all []draw.Pool, err error) {
	for after := ""; ; after = all[len(all)-1].ID {
		page, err := pools.PoolPage(ctx, after, pagePools, archived)
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); len(page) < pagePools {
			return all, nil
		}
	}
}

// poolFinder reads a pool.
type poolFinder interface {
	Pool(ctx context.Context, poolID string) (draw.Pool, error)
}

func poolShowCommand(env environment) *cobra.Command {
	var on target
	var output output
	var pool poolName
	var every watchInterval
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show a pool and its prizes",
		Long: `Show a pool and its prizes. With --watch the pool is shown again every second, or
as often as --watch=TIME says: on a terminal in place, else one below the other,
with --output json a line each. It ends with Ctrl-C, or when the pool is closed,
with exit code 0. While the database or the service is away it goes on and says
so; any other error ends it.`,
		Example: `  drawsvc pool show spring --watch=2s`,
	}
	on.flag(c, env)
	output.flag(c.Flags())
	pool.declare(c, true)
	every.flag(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		return readOn(c, &on, func(ctx context.Context, pools poolFinder) error {
			if every > 0 {
				return watchPool(ctx, env, pools, string(pool), output, time.Duration(every))
			}
			found, err := pools.Pool(ctx, string(pool))
			if err != nil {
				return err
			}
			return printPool(env.stdout, output, &found)
		})
	}
	return c
}
