package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/setting"
)

func awardCommand(env setting.Environment) *cobra.Command {
	c := newGroup("award", "List awards by their state, and make the steps of their life",
		awardListCommand(env), awardShowCommand(env), awardFulfilCommand(env), awardReopenCommand(env), awardVoidCommand(env),
		awardReplaceCommand(env), awardCodeCommand(env), awardStepsCommand(env))
	c.Long = `List awards by their state, and make the steps of their life, on the database or,
with --server, over HTTP. An award is named by its version.

A step that has been made already is printed, and not made again.`
	return c
}

// awardArgument takes one argument, the version of an award.
func awardArgument(c *cobra.Command, args []string) error {
	if err := arguments(1)(c, args); err != nil {
		return err
	}
	_, err := readAward(args)
	return err
}

func readAward(args []string) (int64, error) {
	version, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil || version < 1 {
		return 0, fmt.Errorf("the award %q must be a version, a whole number above 0", args[0])
	}
	return version, nil
}

// awardState adds to the command a flag whose value is a state of awards.
func awardState(c *command, state *draw.AwardState, name, usage string) {
	c.Flags().StringVar((*string)(state), name, "", usage)
	var states []string
	for _, s := range draw.AwardStates() {
		states = append(states, string(s))
	}
	_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(states, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

func awardListCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "list --pool ID --state STATE", "List the awards of a pool that are in a state", ofPool, printing)
	c.Example = `  drawsvc award list --pool spring --state claimed`
	var wanted draw.AwardFilter
	awardState(c, &wanted.State, "state", "`STATE` of the awards: won, claimed, fulfilled, expired or voided")
	return c.does(func([]string) error {
		if wanted.State == "" {
			return setting.AsUsage(errors.New("--state is missing: won, claimed, fulfilled, expired or voided"))
		}
		return wanted.Check()
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		found, err := on.Lives(ctx, string(c.pool), wanted.State)
		if err != nil {
			return err
		}
		if c.output == outputJSON {
			return api.WriteLine(env.Stdout, &found)
		}
		t := newTable(env.Stdout)
		fmt.Fprintln(t, "award\tsince\tuser\tprize\tunit\tdraw\treference")
		for i := range found.Awards {
			l := &found.Awards[i]
			_, _ = setting.Printf(t, "%d\t%s\t%s\t%s\t%d\t%s\t%s\n", l.Version, toSeconds(l.Since), l.User, l.Prize, l.Unit, l.Draw, orDash(&l.Reference))
		}
		return t.Flush()
	})
}

func awardShowCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "show VERSION --pool ID", "Show an award with its steps; no code is shown", ofPool, printing)
	c.Args = awardArgument
	return c.does(nil, func(ctx context.Context, on *api.Client, args []string) error {
		version, err := readAward(args)
		if err != nil {
			return err
		}
		life, err := on.Life(ctx, string(c.pool), version)
		if err != nil {
			return err
		}
		if c.output == outputJSON {
			return api.WriteLine(env.Stdout, &life)
		}
		return printLife(env.Stdout, &life)
	})
}

func printLife(w io.Writer, l *api.WholeLife) error {
	t := newTable(w)
	for _, line := range [][2]string{
		{"award", strconv.FormatInt(l.Version, 10)}, {"at", toSeconds(l.At)}, {"user", l.User}, {"prize", l.Prize}, {"unit", strconv.FormatInt(l.Unit, 10)},
		{"draw", l.Draw}, {"ordinal", strconv.Itoa(l.Ordinal)}, {"state", string(l.State)}, {"since", toSeconds(l.Since)},
		{"needs claim", yesNo(l.NeedsClaim)}, {"claim until", timeOrDash(l.ClaimUntil)}, {"reference", orDash(&l.Reference)},
	} {
		_, _ = setting.Printf(t, "%s\t%s\n", line[0], line[1])
	}
	if len(l.Steps) > 0 {
		fmt.Fprintln(t)
		writeSteps(t, l.Steps)
	}
	return t.Flush()
}

// writeSteps writes steps into a table.
func writeSteps(t *table, steps []api.Step) {
	fmt.Fprintln(t, "step\tat\taward\tto\tstate\tprize\tactor\treturned\treference\treason")
	for i := range steps {
		s := &steps[i]
		returned := ""
		if s.Returned != nil {
			returned = strconv.FormatInt(*s.Returned, 10)
		}
		_, _ = setting.Printf(t, "%d\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			s.N, toSeconds(s.At), s.Award, string(s.To), string(s.State), s.Prize, s.Actor, orDash(&returned), orDash(&s.Reference), orDash(&s.Reason))
	}
}

// awardStep is a command that makes one step of an award.
type awardStep struct {
	*command
	wanted draw.WantedStep
}

func newAwardStep(env setting.Environment, to draw.StepKind, use, short string) *awardStep {
	c := &awardStep{command: newCommand(env, use, short, acting, ofPool, printing)}
	c.Args = awardArgument
	c.wanted.What = to
	awardState(c.command, &c.wanted.From, "from", "make the step only if the award is in this `STATE`")
	return c
}

func (c *awardStep) takeReason(usage string) {
	c.Flags().StringVar(&c.wanted.Reason, "reason", "", usage)
}

func (c *awardStep) make() *cobra.Command {
	return c.does(func(args []string) (err error) {
		if c.wanted.Award, err = readAward(args); err != nil {
			return err
		}
		return c.wanted.Check()
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		done, err := on.Step(ctx, string(c.pool), &c.wanted)
		if err != nil {
			return err
		}
		return printStep(c.env.Stdout, c.output, string(c.pool), &done)
	})
}

func printStep(w io.Writer, o output, pool string, done *api.StepDone) error {
	if o == outputJSON {
		return api.WriteLine(w, done)
	}
	s := &done.Step
	note := ""
	if s.Returned != nil {
		note = fmt.Sprintf("; its unit is back in stock (version %d)", *s.Returned)
	}
	if done.Replayed {
		note += "; it was so already"
	}
	_, err := setting.Printf(w, "pool %s: award %d is %s (step %d)%s\n", pool, s.Award, string(s.To), s.N, note)
	return err
}

func awardFulfilCommand(env setting.Environment) *cobra.Command {
	c := newAwardStep(env, draw.StepFulfilled, "fulfil VERSION --pool ID --reference REFERENCE", "Record that an award was shipped")
	c.Long = `Record that an award was shipped. The winner's server sees the reference, such as
the number of a parcel. Another reference corrects the former one.`
	c.Example = `  drawsvc award fulfil 1234 --pool spring --reference 'DHL 00340434161094' --from claimed`
	c.Flags().StringVar(&c.wanted.Reference, "reference", "", "`REFERENCE` that names what was shipped, without personal data")
	c.takeReason("`TEXT` for the steps of the pool")
	return c.make()
}

func awardReopenCommand(env setting.Environment) *cobra.Command {
	c := newAwardStep(env, draw.StepReopened, "reopen VERSION --pool ID", "Take back that an award was shipped: it is claimed again")
	c.takeReason("`TEXT` for the steps of the pool")
	return c.make()
}

func awardVoidCommand(env setting.Environment) *cobra.Command {
	c := newAwardStep(env, draw.StepVoided, "void VERSION --pool ID --reason TEXT [--return]", "End an award for ever")
	c.Long = `End an award for ever. With --return its unit returns to stock, unless its code was
shown. Turns, misses, limits and budget stay as they are.`
	c.takeReason("`TEXT` that says why, for the steps of the pool")
	c.Flags().BoolVar(&c.wanted.Return, "return", false, "return the unit to stock")
	return c.make()
}

func awardReplaceCommand(env setting.Environment) *cobra.Command {
	c := newAwardStep(env, draw.StepReplaced, "replace VERSION --pool ID", "Give an award the last code of the reserve in place of its own")
	c.takeReason("`TEXT` for the steps of the pool")
	return c.make()
}

func awardCodeCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "code VERSION --pool ID", "Print the code of an award, and record that it was shown", acting, ofPool, printing)
	c.Args = awardArgument
	takeKeys := sealing(c)
	return c.does(func([]string) error { return takeKeys() }, func(ctx context.Context, on *api.Client, args []string) error {
		version, err := readAward(args)
		if err != nil {
			return err
		}
		shown, err := on.ShowCode(ctx, string(c.pool), version)
		if err != nil {
			return err
		}
		if c.output == outputJSON {
			return api.WriteLine(env.Stdout, &shown)
		}
		_, err = setting.Printf(env.Stdout, "%s\n", shown.Code)
		return err
	})
}

func awardStepsCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "steps --pool ID [FILE.csv]", "Print the steps of a pool, or make those of a file", acting, ofPool, printing)
	c.Long = `Print the steps of a pool, or make those of a file. FILE - is the standard input.

The file has the columns award, to, reference, reason and return, the last three of
them optional. It is checked whole before a step is made. The same file again makes
only what is missing.`
	c.Example = `  drawsvc award steps --pool spring --dry-run shipped.csv
  drawsvc award steps --pool spring shipped.csv
  drawsvc award steps --pool spring --after 17`
	c.Args = fileOrNone
	var after int64
	var dryRun bool
	var file io.Reader
	c.Flags().Int64Var(&after, "after", 0, "print the steps after this `NUMBER`")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "check the file, and make no step")
	return c.does(func(args []string) (err error) {
		if c.changes = len(args) == 1; c.changes {
			if c.Flags().Changed("after") {
				return setting.AsUsage(errors.New("--after is for printing, without a file"))
			}
			if err := c.by.check(); err != nil {
				return err
			}
			file, err = c.openFile(args[0])
			return err
		}
		switch {
		case dryRun:
			return setting.AsUsage(errors.New("--dry-run is for a file"))
		case after < 0:
			return setting.AsUsage(errors.New("--after must be 0 or above"))
		}
		return nil
	}, func(ctx context.Context, on *api.Client, args []string) error {
		if file == nil {
			return printSteps(ctx, on, c, after)
		}
		done, err := on.StepAll(ctx, string(c.pool), file, dryRun)
		if err != nil {
			return ofFile(args[0], err)
		}
		return printStepsDone(env.Stdout, c.output, string(c.pool), &done)
	})
}

// fileOrNone is cobra's check of arguments for a command about one file, or none.
func fileOrNone(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return cmp.Or(arguments(1)(c, args), oneFile(c, args))
}

func printSteps(ctx context.Context, on *api.Client, c *command, after int64) error {
	found, err := on.Steps(ctx, string(c.pool), after)
	if err != nil {
		return err
	}
	if c.output == outputJSON {
		return api.WriteLine(c.env.Stdout, &found)
	}
	t := newTable(c.env.Stdout)
	writeSteps(t, found.Steps)
	return t.Flush()
}

func printStepsDone(w io.Writer, o output, pool string, done *api.StepsDone) error {
	if o == outputJSON {
		return api.WriteLine(w, done)
	}
	note := ""
	if done.DryRun {
		note = "; this was a dry run, and no step was made"
	}
	_, err := setting.Printf(w, "pool %s: lines %d, steps made %d, unchanged %d%s\n", pool, done.Lines, done.Written, done.Unchanged, note)
	return cmp.Or(err, printEncoding(w, done.Encoding))
}
