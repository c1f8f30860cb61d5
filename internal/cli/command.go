package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
)

// command is a command that makes calls, with the flags that such commands share.
type command struct {
	*cobra.Command
	env    setting.Environment
	on     target
	by     actor
	pool   poolName
	output output
	// changes says that the command records who acts, writes that it writes anyhow.
	changes, writes bool
	// closes, where not nil, is called at the end.
	closes func()
}

// part adds flags that commands share.
type part func(c *command)

// acting is that of a command that changes something: --actor.
func acting(c *command) {
	c.changes = true
	c.by.flag(c.Command)
}

// writing is that of a command that writes to the database, and records nobody.
func writing(c *command) { c.writes = true }

// printing is that of a command whose output has two forms: --output.
func printing(c *command) { c.output.flag(c.Flags()) }

// ofPool is that of a command about one pool: --pool.
func ofPool(c *command) { c.pool.declare(c.Command, false) }

// namingPool is ofPool where the argument may name the pool too.
func namingPool(c *command) { c.pool.declare(c.Command, true) }

// newCommand returns a command that works on the database or on a service. It takes no
// arguments unless a part or its maker says so.
func newCommand(env setting.Environment, use, short string, parts ...part) *command {
	c := &command{Command: &cobra.Command{Use: use, Short: short, Args: noArguments}, env: env}
	c.on.flag(c.Command, env)
	for _, add := range parts {
		add(c)
	}
	return c
}

// does sets what the command does: check judges the command line before anything is
// opened, nil for nothing, and do makes the calls.
func (c *command) does(check func(args []string) error, do func(ctx context.Context, on *api.Client, args []string) error) *cobra.Command {
	c.RunE = func(_ *cobra.Command, args []string) error {
		defer func() {
			if c.closes != nil {
				c.closes()
			}
		}()
		if check != nil {
			if err := check(args); err != nil {
				return err
			}
		}
		run := func(ctx context.Context, on *api.Client) error { return do(ctx, on, args) }
		if c.changes {
			return changeOn(c.Command, &c.on, c.by, run)
		}
		return c.on.working(c.Command, stock.Options{ReadOnly: !c.writes}, run)
	}
	return c.Command
}

// openFile opens a file before the database, so that a wrong name touches nothing. It is
// closed when the command ends.
func (c *command) openFile(name string) (io.Reader, error) {
	file, done, err := openImport(name, c.env)
	c.closes = done
	return file, err
}

// newGroup returns a command that has others below it.
func newGroup(use, short string, below ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: noArguments, RunE: needsSubcommand}
	c.AddCommand(below...)
	return c
}
