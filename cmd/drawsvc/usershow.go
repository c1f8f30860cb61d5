package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
	"drawsvc/internal/http"
)

// stander says where users stand.
type stander interface {
	Standing(ctx context.Context, poolID, userID string) (draw.Standing, error)
}

func userShowCommand(env environment) *cobra.Command {
	var on target
	var pool poolName
	var output output
	c := &cobra.Command{
		Use:   "show USER --pool ID",
		Short: "Show where a user stands in a pool whose rules count draws or wins",
	}
	on.flag(c, env)
	output.flag(c.Flags())
	pool.declare(c, false)
	c.Args = arguments(1)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := draw.CheckUser(args[0]); err != nil {
			return err
		}
		return readOn(c, &on, func(ctx context.Context, users stander) error {
			found, err := users.Standing(ctx, string(pool), args[0])
			if err != nil {
				return err
			}
			if output == outputJSON {
				return http.WriteUser(env.stdout, &found)
			}
			return printStanding(env.stdout, string(pool), args[0], &found)
		})
	}
	return c
}

func printStanding(w io.Writer, pool, user string, s *draw.Standing) error {
	t := newTable(w)
	_, _ = printf(t, "pool %s, user %s: misses %d%s%s\n\n", pool, user, s.Misses, guaranteed(s), blocked(s))
	fmt.Fprintln(t, "limit\tprize\tper\tmax\tused\tleft\tresets")
	for i := range s.Limits {
		l := &s.Limits[i]
		per, resets := l.Per.String(), "-"
		if l.Per.IsEver() {
			per = "ever"
		}
		if !l.ResetsAt.IsZero() {
			resets = l.ResetsAt.UTC().Format(time.RFC3339)
		}
		_, _ = printf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%s\n", l.Of, orDash(&l.PrizeID), per, l.Max, l.Used, l.Left, resets)
	}
	return t.Flush()
}

// guaranteed is what the line of a user says of a guarantee.
func guaranteed(s *draw.Standing) string {
	if s.GuaranteedIn == 0 {
		return ""
	}
	return ", guaranteed in " + strconv.FormatInt(s.GuaranteedIn, 10)
}

// blocked is what it says of a user whom the rules block.
func blocked(s *draw.Standing) string {
	if !s.Blocked {
		return ""
	}
	return ", blocked"
}
