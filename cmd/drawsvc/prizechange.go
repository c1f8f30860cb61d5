package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
	"drawsvc/internal/http"
)

func prizeCommand(env environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "prize",
		Short: "Add prizes to a pool and correct them",
		Args:  noArguments,
		RunE:  needsSubcommand,
	}
	c.AddCommand(prizeAddCommand(env), prizeRenameCommand(env))
	return c
}

func prizeAddCommand(env environment) *cobra.Command {
	var on target
	var by actor
	var pool poolName
	var prizes prizeFlags
	c := &cobra.Command{
		Use:     "add --pool ID --prize id=ID,stock=N[,name=NAME][,value=AMOUNT][,kind=blank]",
		Short:   "Add a prize to a pool",
		Example: `  drawsvc prize add --pool spring --prize 'id=tin,name=Tin soldier,value=0.50,stock=40'`,
	}
	on.flag(c, env)
	by.flag(c)
	pool.declare(c, false)
	c.Flags().Var(&prizes, "prize", "the prize, as id=ID,stock=N[,name=NAME][,value=AMOUNT][,kind=blank]")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if len(prizes) != 1 {
			return usageError{errors.New("name one prize with --prize")}
		}
		return changeOn(c, &on, by, func(ctx context.Context, stock http.Stocker) error {
			made, err := stock.AddPrize(ctx, string(pool), prizes[0], string(by))
			if err != nil {
				return err
			}
			stocked, _ := stockOf(&made)
			_, err = printf(env.stdout, "pool %s has the prize %s: %s stocked\n", pool, made.ID, stocked)
			return err
		})
	}
	return c
}

func prizeRenameCommand(env environment) *cobra.Command {
	var on target
	var by actor
	var pool poolName
	var prize, name, value string
	c := &cobra.Command{
		Use:     "rename --pool ID --prize ID [--name NAME] [--value AMOUNT]",
		Short:   "Correct the name or the value of a prize that has issued nothing",
		Example: `  drawsvc prize rename --pool spring --prize gold --name 'Gold coin'`,
	}
	on.flag(c, env)
	by.flag(c)
	pool.declare(c, false)
	f := c.Flags()
	f.StringVar(&prize, "prize", "", "`ID` of the prize")
	f.StringVar(&name, "name", "", "new name of the prize")
	f.StringVar(&value, "value", "", "new `AMOUNT` of money that it is worth")
	c.RunE = func(c *cobra.Command, _ []string) error {
		var change draw.PrizeChange
		if f.Changed("name") {
			change.Name = &name
		}
		if f.Changed("value") {
			amount, err := draw.ParseValue(value)
			if err != nil {
				return usageError{fmt.Errorf("--value: %s", message(err))}
			}
			change.Value = &amount
		}
		if err := cmp.Or(draw.CheckID("the prize's id", prize), change.Check()); err != nil {
			return err
		}
		return changeOn(c, &on, by, func(ctx context.Context, stock http.Stocker) error {
			p, err := stock.ChangePrize(ctx, string(pool), prize, change, string(by))
			if err != nil {
				return err
			}
			_, err = printf(env.stdout, "pool %s, prize %s: name %q, value %s\n", pool, p.ID, p.Name, p.Value.StringFixed(2))
			return err
		})
	}
	return c
}
