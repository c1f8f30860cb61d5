package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"drawsvc/internal/setting"
)

// completeMax is how long a shell waits for the ids of pools.
const completeMax = 2 * time.Second

// withDefaults adds cobra's commands completion and help, but with our messages for
// errors.
func withDefaults(root *cobra.Command, env setting.Environment) {
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	complete(root, env)
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.Args, c.RunE = noArguments, needsSubcommand
		case "help":
			c.Args = knownCommand
		}
	}
}

// knownCommand refuses arguments that name no command. It is cobra's check of arguments.
func knownCommand(help *cobra.Command, args []string) error {
	found, rest, err := help.Root().Find(args)
	if err != nil {
		return err
	}
	return noArguments(found, rest)
}

// complete adds the words that a shell may suggest: the ids of pools, and the forms of
// output.
func complete(c *cobra.Command, env setting.Environment) {
	for _, sub := range c.Commands() {
		complete(sub, env)
	}
	f := c.Flags()
	for name, values := range map[string][]string{"output": {string(outputTable), string(outputJSON)}, "formulas": formulaStyles()} {
		if f.Lookup(name) != nil {
			_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
		}
	}
	if f.Lookup("pool") == nil || f.Lookup(setting.DatabaseFlag) == nil {
		return
	}
	pools := func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return poolIDs(c.Context(), c.Flags(), env), cobra.ShellCompDirectiveNoFileComp
	}
	_ = c.RegisterFlagCompletionFunc("pool", pools) // the flag exists
	if c.Annotations[argumentIsPool] != "" {
		c.ValidArgsFunction = pools
	}
}

// poolIDs returns the ids that `pool list` finds with the flags and the environment;
// none if that fails or takes long.
func poolIDs(ctx context.Context, flags *pflag.FlagSet, env setting.Environment) (ids []string) {
	args := []string{"pool", "list", "--output", string(outputJSON)}
	flags.Visit(func(f *pflag.Flag) {
		if slices.Contains([]string{setting.ServerFlag, setting.TokenFlag, setting.TokenFlag + setting.FileSuffix, setting.DatabaseFlag, setting.DatabaseFlag + setting.FileSuffix}, f.Name) {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	ctx, cancel := context.WithTimeout(ctx, completeMax)
	defer cancel()
	var listed bytes.Buffer
	env.Stdout, env.Stderr = &listed, io.Discard
	if run(ctx, args, env) != nil {
		return nil
	}
	var found struct {
		Pools []struct{ ID, Name string }
	}
	if json.Unmarshal(listed.Bytes(), &found) != nil {
		return nil
	}
	for _, p := range found.Pools {
		ids = append(ids, cobra.CompletionWithDesc(p.ID, p.Name))
	}
	return ids
}
