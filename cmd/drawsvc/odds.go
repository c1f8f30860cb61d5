package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/odds"
	"drawsvc/internal/http"
)

func oddsCommand(env environment) *cobra.Command {
	var on target
	var pool poolName
	var output output
	var user string
	c := &cobra.Command{
		Use:   "odds --pool ID [--user U]",
		Short: "State the exact chances of a pool's next draw, of anybody or of one user",
		Long: `State the exact chances of a pool's next draw, of anybody or of one user. No
random number is used, so this tells nothing of what the next draw gives. That the
pool would refuse the draw is an answer too, with exit code 0.`,
	}
	on.flag(c, env)
	output.flag(c.Flags())
	pool.declare(c, false)
	c.Flags().StringVar(&user, "user", "", "the `user`, with what he has drawn; a ticket is taken as given")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if c.Flags().Changed("user") {
			if err := draw.CheckUser(user); err != nil {
				return err
			}
		}
		return readOn(c, &on, func(ctx context.Context, odds http.Odds) error {
			found, err := odds.Odds(ctx, string(pool), user)
			if output == outputJSON {
				return http.WriteOdds(env.stdout, &found, err)
			}
			if refused := http.Refusal(err); refused != nil {
				return printRefusal(env.stdout, string(pool), user, refused)
			}
			if err != nil {
				return err
			}
			return printOdds(env.stdout, string(pool), &found)
		})
	}
	return c
}

// printRefusal says why the pool would refuse a draw now, and from when on it
// would not.
func printRefusal(w io.Writer, pool, user string, refused *draw.Error) error {
	text := fmt.Sprintf("pool %s refuses a draw now, with %s: %s", pool, refused.Code, refused.Detail)
	if user != "" {
		text = fmt.Sprintf("pool %s refuses a draw of %s now, with %s: %s", pool, user, refused.Code, refused.Detail)
	}
	if r := refused.Reached; r != nil && !r.RetryAt.IsZero() {
		text += "; again from " + r.RetryAt.UTC().Format(draw.TimeFormat)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

func printOdds(w io.Writer, pool string, o *odds.Statement) error {
	t := newTable(w)
	_, _ = printf(t, "pool %s at version %d, law %s, win %s\n\n", pool, o.Version, o.Law, o.Win)
	fmt.Fprintln(t, "prize\tchance\tpercent")
	for _, c := range o.Odds {
		_, _ = printf(t, "%s\t%s\t%s\n", c.PrizeID, c.Chance, percent(c.Chance))
	}
	_, _ = printf(t, "(none)\t%s\t%s\n", o.None, percent(o.None))
	if g := o.Guarantee; g != nil {
		rate := "as many as what was drawn before makes them"
		if g.Rate != nil {
			rate = percent(g.Rate) + " of many draws"
		}
		_, _ = printf(t, "\nguarantee of %s after %d misses; wins are %s\n", g.PrizeID, g.After, rate)
	}
	return errors.Join(t.Flush())
}

// percent writes a chance with four decimals.
func percent(chance *big.Rat) string {
	return new(big.Rat).Mul(chance, big.NewRat(100, 1)).FloatString(4) + " %"
}
