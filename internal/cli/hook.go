package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/setting"
)

func hookCommand(env setting.Environment) *cobra.Command {
	c := newGroup("hook", "Send the events of pools to receivers, as signed webhooks",
		hookAddCommand(env), hookListCommand(env), hookShowCommand(env), hookTestCommand(env), hookRetryCommand(env), hookSkipCommand(env),
		hookRotateCommand(env), hookReplayCommand(env), hookStateCommand(env, "on"), hookStateCommand(env, "off"), hookRemoveCommand(env))
	c.Long = `Send the events of pools to receivers, as signed webhooks, on the database or, with
--server, over HTTP. An instance of ` + "`drawsvc serve`" + ` sends them.

On the database, --seal-keys names the keys that seal and open secrets. The addresses
of --hook-allow are the service's: a hook to such an address is added with --server.`
	return c
}

// sealing gives the command the flag of seal keys, and returns a function that reads
// it.
func sealing(c *command) func() error {
	keys := &setting.SealKeysFlag{}
	keys.Flag(c.Flags())
	return func() error { return c.on.takeSealKeys(keys) }
}

// hookArgument takes one argument, a hook.
func hookArgument(c *cobra.Command, args []string) error {
	if err := arguments(1)(c, args); err != nil {
		return err
	}
	return draw.CheckID("the hook's id", args[0])
}

// listFlag declares a flag whose value is a list, for a filter. The returned function
// returns the list as JSON, nil if the flag is not given.
func listFlag(c *command, name, usage string) func() jsontext.Value {
	var list []string
	c.Flags().StringSliceVar(&list, name, nil, usage)
	return func() jsontext.Value {
		if !c.Flags().Changed(name) {
			return nil
		}
		text, err := json.Marshal(list)
		if err != nil {
			return jsontext.Value(`[""]`) // the service refuses this list
		}
		return text
	}
}

func hookAddCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "add URL", "Add a hook; its secret is printed once", acting, printing)
	c.Example = `  drawsvc hook add https://shop.example/draws --types award.won,prize.empty --seal-keys seal.keys`
	c.Args = arguments(1)
	takeKeys := sealing(c)
	var wanted api.NewHook
	types := listFlag(c, "types", "`TYPES` of events, separated by commas (default all but award.lost)")
	pools := listFlag(c, "pools", "`IDS` of pools, separated by commas (default all)")
	prizes := listFlag(c, "prizes", "`IDS` of prizes, separated by commas (default all)")
	c.Flags().StringVar(&wanted.From, "from", "now", "`WHERE` to begin in the history of each pool: now or start")
	return c.does(func(args []string) error {
		wanted.URL, wanted.Types, wanted.Pools, wanted.Prizes = args[0], types(), pools(), prizes()
		if _, err := wanted.Read(); err != nil {
			return setting.AsUsage(err)
		}
		return takeKeys()
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		made, err := on.CreateHook(ctx, &wanted)
		if err != nil {
			return err
		}
		return printSecret(env.Stdout, c.output, &made, "added")
	})
}

func printSecret(w io.Writer, o output, h *api.Hook, done string) error {
	if o == outputJSON {
		return api.WriteLine(w, h)
	}
	_, err := setting.Printf(w, "hook %s is %s\nkeep the secret, which is not shown again: %s\n", h.ID, done, h.Secret)
	return err
}

func hookListCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "list", "List all hooks", printing)
	return c.does(nil, func(ctx context.Context, on *api.Client, _ []string) error {
		all, err := on.Hooks(ctx)
		if err != nil {
			return err
		}
		if c.output == outputJSON {
			return api.WriteLine(env.Stdout, &api.Hooks{Hooks: all})
		}
		w := newTable(env.Stdout)
		fmt.Fprintln(w, "hook\tstate\twhy\tlag\tlast\turl")
		for i := range all {
			h := &all[i]
			_, _ = setting.Printf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", h.ID, string(h.State), orDash(&h.Why), h.Lag.Events, lastAnswer(h), h.URL)
		}
		return w.Flush()
	})
}

// lastAnswer returns the last answer in one word.
func lastAnswer(h *api.Hook) string {
	switch {
	case h.Last == nil:
		return "-"
	case h.Last.Error != "":
		return h.Last.Error
	}
	return strconv.Itoa(h.Last.Status)
}

func hookShowCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "show HOOK", "Show a hook", printing)
	c.Args = hookArgument
	return c.does(nil, func(ctx context.Context, on *api.Client, args []string) error {
		h, err := on.Hook(ctx, args[0])
		if err != nil {
			return err
		}
		return printHook(env.Stdout, c.output, &h)
	})
}

func printHook(out io.Writer, o output, h *api.Hook) error {
	if o == outputJSON {
		return api.WriteLine(out, h)
	}
	types := make([]string, len(h.Types))
	for i, t := range h.Types {
		types[i] = string(t)
	}
	list := func(ids *[]string) string {
		if ids == nil {
			return "all"
		}
		return strings.Join(*ids, ", ")
	}
	w := newTable(out)
	for _, line := range [][2]string{
		{"hook", h.ID}, {"url", h.URL}, {"types", strings.Join(types, ", ")}, {"pools", list(h.Pools)}, {"prizes", list(h.Prizes)},
		{"state", string(h.State)}, {"why", orDash(&h.Why)}, {"lag", strconv.FormatInt(h.Lag.Events, 10)}, {"last", lastAnswer(h)},
		{"next attempt", timeOrDash(h.NextAt)}, {"former secret until", timeOrDash(h.OldSecretUntil)},
	} {
		_, _ = setting.Printf(w, "%s\t%s\n", line[0], line[1])
	}
	return w.Flush()
}

func hookTestCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "test HOOK", "Send a test to a hook now", acting, printing)
	c.Args = hookArgument
	takeKeys := sealing(c)
	return c.does(func([]string) error { return takeKeys() }, func(ctx context.Context, on *api.Client, args []string) error {
		done, err := on.TestHook(ctx, args[0])
		if err != nil {
			return err
		}
		if c.output == outputJSON {
			return api.WriteLine(env.Stdout, &done)
		}
		if done.Error != "" {
			return fmt.Errorf("the test failed: %s", done.Error)
		}
		_, err = setting.Printf(env.Stdout, "hook %s answered %d after %d ms\n", args[0], done.Status, done.MS)
		return err
	})
}

// hookDoes returns a command that changes a hook.
func hookDoes(env setting.Environment, use, short, done string, check func() error, do func(context.Context, *api.Client, string) error, flags func(*command)) *cobra.Command {
	c := newCommand(env, use+" HOOK", short, acting)
	c.Args = hookArgument
	if flags != nil {
		flags(c)
	}
	return c.does(func([]string) error {
		if check == nil {
			return nil
		}
		return check()
	}, func(ctx context.Context, on *api.Client, args []string) error {
		if err := do(ctx, on, args[0]); err != nil {
			return err
		}
		_, err := setting.Printf(env.Stdout, "hook %s: %s\n", args[0], done)
		return err
	})
}

func hookRetryCommand(env setting.Environment) *cobra.Command {
	return hookDoes(env, "retry", "Make everything that waits for an attempt due now", "what waits is due now", nil,
		func(ctx context.Context, on *api.Client, id string) error {
			_, err := on.RetryHook(ctx, id)
			return err
		}, nil)
}

func hookStateCommand(env setting.Environment, state string) *cobra.Command {
	return hookDoes(env, state, "Turn a hook "+state, "turned "+state, nil, func(ctx context.Context, on *api.Client, id string) error {
		_, err := on.ChangeHook(ctx, id, &api.HookChange{State: &state})
		return err
	}, nil)
}

func hookRemoveCommand(env setting.Environment) *cobra.Command {
	return hookDoes(env, "remove", "Remove a hook", "removed", nil,
		func(ctx context.Context, on *api.Client, id string) error { return on.RemoveHook(ctx, id) }, nil)
}

func hookSkipCommand(env setting.Environment) *cobra.Command {
	var skip api.HookSkip
	check := func() error { return asUsageIf(draw.CheckID("the pool's id", skip.Pool)) }
	return hookDoes(env, "skip --pool ID", "Skip the message of a pool that waits for its next attempt", "skipped, if a message waited", check,
		func(ctx context.Context, on *api.Client, id string) error {
			_, err := on.SkipHook(ctx, id, &skip)
			return err
		}, func(c *command) { c.Flags().StringVar(&skip.Pool, "pool", "", "`ID` of the pool") })
}

func hookReplayCommand(env setting.Environment) *cobra.Command {
	replay := api.HookReplay{After: new(int64)}
	check := func() error {
		if *replay.After < 0 || replay.AfterStep < 0 {
			return setting.AsUsage(errors.New("--after and --after-step must be 0 or more"))
		}
		return asUsageIf(draw.CheckID("the pool's id", replay.Pool))
	}
	return hookDoes(env, "replay --pool ID --after VERSION --after-step STEP", "Send the events of a pool again, those after a version and a step", "the events are sent again", check,
		func(ctx context.Context, on *api.Client, id string) error {
			_, err := on.ReplayHook(ctx, id, &replay)
			return err
		}, func(c *command) {
			c.Flags().StringVar(&replay.Pool, "pool", "", "`ID` of the pool")
			c.Flags().Int64Var(replay.After, "after", 0, "`VERSION` after which events are sent again")
			c.Flags().Int64Var(&replay.AfterStep, "after-step", 0, "`STEP` of awards after which events are sent again")
		})
}

// asUsageIf is like setting.AsUsage, but returns nil for nil.
func asUsageIf(err error) error {
	if err == nil {
		return nil
	}
	return setting.AsUsage(err)
}

func hookRotateCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "rotate HOOK", "Give a hook a new secret, which is printed once; the former one also signs for 24 hours", acting, printing)
	c.Args = hookArgument
	takeKeys := sealing(c)
	return c.does(func([]string) error { return takeKeys() }, func(ctx context.Context, on *api.Client, args []string) error {
		rotated, err := on.RotateHook(ctx, args[0])
		if err != nil {
			return err
		}
		return printSecret(env.Stdout, c.output, &rotated, "rotated")
	})
}
