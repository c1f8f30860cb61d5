package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
)

func needsSubcommand(c *cobra.Command, _ []string) error {
	return usageError{errors.New("a subcommand is missing: try " + c.CommandPath() + " --help")}
}

func poolCommand(env environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "pool",
		Short: "Make, list and change pools, straight on the database",
		Long: `Make, list and change pools, straight on the database, without the service.

What is changed here counts from the next draw on, also for instances that run
on the same server database. An SQLite database belongs to one process: while
` + "`drawsvc serve`" + ` has it, list and show work, and changes go over HTTP.`,
		Args: cobra.NoArgs,
		RunE: needsSubcommand,
	}
	c.AddCommand(poolCreateCommand(env), poolListCommand(env), poolShowCommand(env),
		poolOpenCommand(env), poolPauseCommand(env), poolCloseCommand(env),
		poolRenameCommand(env), poolArchiveCommand(env), poolDeleteCommand(env),
		poolCommitCommand(env), poolRevealCommand(env), poolExportProofCommand(env),
	)
	return c
}

// poolName is the pool that a command is about: its argument, or --pool.
type poolName string

// declare adds the flag, and the argument when the command takes one.
func (p *poolName) declare(c *cobra.Command, takesArgument bool) {
	usage := "`ID` of the pool"
	c.Args = cobra.NoArgs
	if takesArgument {
		usage += ", instead of the argument"
		c.Args = p.argument
	}
	c.Flags().StringVar((*string)(p), "pool", "", usage)
}

// argument is cobra's check of arguments. It runs before the environment is
// read, so that an argument beats it as a flag does.
func (p *poolName) argument(c *cobra.Command, args []string) error {
	if err := cobra.MaximumNArgs(1)(c, args); err != nil {
		return err
	}
	if len(args) == 0 {
		return nil
	}
	if c.Flags().Changed("pool") {
		return errors.New("name the pool once: as the argument or with --pool")
	}
	return c.Flags().Set("pool", args[0])
}

// check refuses what cannot be a pool, before any database is opened.
func (p *poolName) check() error { return draw.CheckID("the pool's id", string(*p)) }

func poolCreateCommand(env environment) *cobra.Command {
	var db database
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
	db.flag(c, env)
	by.flag(c)
	pool.declare(c, true)
	f := c.Flags()
	f.StringVar(&name, "name", "", "name of the pool (default its id)")
	f.StringVar(&state, "state", string(draw.StateOpen), "`STATE` of the new pool: open or paused")
	f.StringVar(&mode, "mode", "", "the pool's own `MODE`: "+strings.Join(lockmode.Names(), ", ")+
		" (default the service's; not taken from the environment, where it is the service's)")
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
		if err := errors.Join(pool.check(), wanted.Check(), draw.CheckStart(wanted.State)); err != nil {
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
				return err
			}
		}
		return changing(c, &db, by, func(ctx context.Context, store *stock.Store) error {
			made, err := store.CreatePool(ctx, wanted, string(by))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(env.stdout, "pool %s is made and %s: prizes %d, units %d\n", made.ID, made.State, len(made.Prizes), unitsOf(&made).stocked)
			return err
		})
	}
	return c
}

func poolListCommand(env environment) *cobra.Command {
	var db database
	var output output
	c := &cobra.Command{Use: "list", Short: "List all pools that are not archived", Args: cobra.NoArgs}
	db.flag(c, env)
	output.flag(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		return db.with(c, stock.Options{ReadOnly: true}, func(ctx context.Context, store *stock.Store) error {
			pools, err := store.Pools(ctx)
			if err != nil {
				return err
			}
			pools = slices.DeleteFunc(pools, func(p draw.Pool) bool { return p.Archived })
			return printPools(env.stdout, output, pools)
		})
	}
	return c
}

func poolShowCommand(env environment) *cobra.Command {
	var db database
	var output output
	var pool poolName
	c := &cobra.Command{Use: "show ID", Short: "Show a pool and its prizes"}
	db.flag(c, env)
	output.flag(c.Flags())
	pool.declare(c, true)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := pool.check(); err != nil {
			return err
		}
		return db.with(c, stock.Options{ReadOnly: true}, func(ctx context.Context, store *stock.Store) error {
			found, err := store.Pool(ctx, string(pool))
			if err != nil {
				return err
			}
			return printPool(env.stdout, output, &found)
		})
	}
	return c
}
