package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"drawsvc/internal/draw"
)

// watchInterval is how often a pool is shown again, 0 for once and never again.
// It implements pflag.Value.
type watchInterval time.Duration

// The shortest and the longest interval, and that of --watch alone.
const (
	intervalMin   = 100 * time.Millisecond
	intervalMax   = time.Hour
	intervalUsual = "1s"
)

func (w *watchInterval) flag(flags *pflag.FlagSet) {
	flags.Var(w, "watch", "show the pool again every `TIME`, until it is closed or Ctrl-C")
	flags.Lookup("watch").NoOptDefVal = intervalUsual
}

// String implements pflag.Value.
func (w *watchInterval) String() string {
	if *w == 0 {
		return ""
	}
	return time.Duration(*w).String()
}

// Type implements pflag.Value.
func (w *watchInterval) Type() string { return "interval" }

// Set implements pflag.Value.
func (w *watchInterval) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < intervalMin || d > intervalMax {
		return fmt.Errorf("must be a time such as 2s, from %s to %s", intervalMin, intervalMax)
	}
	*w = watchInterval(d)
	return nil
}

// clearScreen moves a terminal to its first line and clears what is below.
const clearScreen = "\x1b[H\x1b[J"

// watchPool shows a pool again and again, until it is closed or ctx ends.
func watchPool(ctx context.Context, env environment, pools poolFinder, id string, o output, every time.Duration) error {
	isTerminal := isTerminal(env.stdout)
	var last *draw.Pool
	for ctx.Err() == nil {
		found, err := pools.Pool(ctx, id)
		switch {
		case err == nil:
			if err := showWatched(env, o, &found, last, isTerminal); err != nil || found.State == draw.StateClosed {
				return err
			}
			last = &found
		case ctx.Err() != nil: // Ctrl-C is how a watch ends
		case isAway(err):
			fmt.Fprintln(env.stderr, "drawsvc:", message(err))
		default:
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
	return nil
}

// isAway says whether the next attempt may reach what this one could not.
func isAway(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) ||
		slices.Contains([]draw.Code{draw.CodeStoreUnavailable, draw.CodeOverloaded, draw.CodeContended, draw.CodeDraining}, draw.CodeOf(err))
}

// showWatched shows a pool, and what was issued since it was last shown.
func showWatched(env environment, o output, p, last *draw.Pool, isTerminal bool) error {
	if o == outputTable {
		switch {
		case isTerminal:
			fmt.Fprint(env.stdout, clearScreen)
		case last != nil:
			fmt.Fprintln(env.stdout)
		}
	}
	if err := printPool(env.stdout, o, p); err != nil || o != outputTable {
		return err
	}
	now := unitsOf(p)
	since := ""
	if last != nil {
		since = ", " + strconv.FormatInt(now.issued-unitsOf(last).issued, 10) + " since the line before"
	}
	_, err := printf(env.stdout, "\n%s  %d of %d units issued%s\n", time.Now().UTC().Format(time.TimeOnly), now.issued, now.stocked, since)
	return err
}
