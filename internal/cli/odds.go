package cli

import (
	"context"
	"fmt"
	"io"
	"math/big"
	"slices"

	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/setting"
)

func oddsCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "odds --pool ID [--user U]", "Print the exact chances of a pool's next draw, for anybody or for one user", printing, ofPool)
	c.Long = `Print the exact chances of a pool's next draw, for anybody or for one user. No
random number is used, so this tells nothing of what the next draw gives. That the
pool would refuse the draw is an answer too, with exit code 0.`
	var user string
	c.Flags().StringVar(&user, "user", "", "the `user`, with what he has drawn; a ticket is taken as given")
	return c.does(func([]string) error {
		if c.Flags().Changed("user") {
			return draw.CheckUser(user)
		}
		return nil
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		found, err := on.Odds(ctx, string(c.pool), user)
		switch {
		case err != nil:
			return err
		case found.IsRefusal() && c.output == outputJSON:
			return api.WriteLine(env.Stdout, &found.Refused)
		case found.IsRefusal():
			return printRefusal(env.Stdout, string(c.pool), user, &found.Refused)
		case c.output == outputJSON:
			return api.WriteLine(env.Stdout, &found.Odds)
		}
		return printOdds(env.Stdout, string(c.pool), &found.Odds)
	})
}

// printRefusal prints why the pool would refuse a draw now, and from when on it will
// accept draws again.
func printRefusal(w io.Writer, pool, user string, r *api.Refused) error {
	text := fmt.Sprintf("pool %s refuses a draw now, with %s: %s", pool, r.Refused, r.Detail)
	if user != "" {
		text = fmt.Sprintf("pool %s refuses a draw of %s now, with %s: %s", pool, user, r.Refused, r.Detail)
	}
	if r.RetryAt != nil {
		text += "; again from " + *r.RetryAt
	}
	_, err := setting.Printf(w, "%s\n", text)
	return err
}

func printOdds(w io.Writer, pool string, o *api.Odds) error {
	t := newTable(w)
	_, _ = setting.Printf(t, "pool %s at version %d, law %s, win %s\n\n", pool, o.Version, o.Law, o.Win)
	fmt.Fprintln(t, "prize\tchance\tpercent")
	for _, c := range append(slices.Clone(o.Odds), api.Chance{Prize: "(none)", Chance: o.None}) {
		share, err := percent(c.Chance)
		if err != nil {
			return err
		}
		_, _ = setting.Printf(t, "%s\t%s\t%s\n", c.Prize, c.Chance, share)
	}
	if g := o.Guarantee; g != nil {
		rate := "not constant: it depends on earlier draws"
		if g.Rate != nil {
			share, err := percent(*g.Rate)
			if err != nil {
				return err
			}
			rate = share + " of many draws"
		}
		_, _ = setting.Printf(t, "\nguarantee of %s after %d misses; share of wins: %s\n", g.Prize, g.After, rate)
	}
	if o.Moments {
		fmt.Fprintf(t, "\nwinning moments may give a prize as well; the chances are those without\n")
	}
	return t.Flush()
}

// percent formats a chance with four decimals.
func percent(chance string) (string, error) {
	r, err := api.ReadFraction(chance)
	if err != nil {
		return "", err
	}
	return r.Mul(r, big.NewRat(100, 1)).FloatString(4) + " %", nil
}
