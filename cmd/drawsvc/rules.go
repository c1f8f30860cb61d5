package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
	"drawsvc/internal/http"
)

func rulesCommand(env environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "rules",
		Short: "Show, check and set the rules of a pool",
		Args:  noArguments,
		RunE:  needsSubcommand,
	}
	c.AddCommand(rulesShowCommand(env), rulesSetCommand(env), rulesCheckCommand(env), rulesRemoveCommand(env))
	return c
}

// readRules reads a rules document; name - is the standard input.
func readRules(name string, env environment) (*draw.Rules, error) {
	text, err := readDocument(name, env, draw.RulesMax)
	if err != nil {
		return nil, err
	}
	rules, err := draw.ParseRules(text)
	return rules, ofFile(name, err)
}

// ofFile is the error of a file that the command line names. The command line is
// right where the content is not: that is a failure, exit code 1, and no usage.
func ofFile(name string, err error) error {
	if draw.CodeOf(err) != draw.CodeInvalidRequest {
		return err
	}
	return errors.New(name + ": " + message(err))
}

// readDocument reads a file of at most most bytes.
func readDocument(name string, env environment, most int64) ([]byte, error) {
	file, closeFile, err := openImport(name, env)
	if err != nil {
		return nil, err
	}
	defer closeFile()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, most)
	}
	return text, err
}

func rulesShowCommand(env environment) *cobra.Command {
	var on target
	var pool poolName
	var output output
	var version int64
	c := &cobra.Command{Use: "show --pool ID [--version N]", Short: "Show the rules of a pool, those in force or earlier ones"}
	on.flag(c, env)
	output.flag(c.Flags())
	pool.declare(c, false)
	c.Flags().Int64Var(&version, "version", 0, "the version of the pool that put the rules in force (default those in force)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if c.Flags().Changed("version") && version < 1 {
			return usageError{errors.New("--version must be 1 or more")}
		}
		return readOn(c, &on, func(ctx context.Context, ruler http.Ruler) error {
			found, err := ruler.Rules(ctx, string(pool), version)
			if err != nil {
				return err
			}
			if output == outputJSON {
				return http.WriteRules(env.stdout, &found)
			}
			document := "none: this version has removed the rules"
			if found.Rules != nil {
				document = found.Rules.Document()
			}
			_, err = printf(env.stdout, "pool %s, rules of version %d, by %s at %s\n\n%s\n",
				pool, found.Version, found.Actor, found.At.UTC().Format(draw.TimeFormat), document)
			return err
		})
	}
	return c
}

func rulesSetCommand(env environment) *cobra.Command {
	var on target
	var by actor
	var pool poolName
	var current ifVersion
	c := &cobra.Command{
		Use:     "set --pool ID FILE.json",
		Short:   "Put rules in force in a pool, in place of those before",
		Example: `  drawsvc rules set --pool spring rules.json`,
	}
	on.flag(c, env)
	by.flag(c)
	pool.declare(c, false)
	current.flag(c)
	c.Args = oneFile
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := current.check(); err != nil {
			return err
		}
		rules, err := readRules(args[0], env)
		if err != nil {
			return err
		}
		return changeOn(c, &on, by, func(ctx context.Context, ruler http.Ruler) error {
			set, err := ruler.SetRules(ctx, string(pool), rules, current.versions(c), string(by))
			if err != nil {
				return ofFile(args[0], err)
			}
			_, err = printf(env.stdout, "pool %s: the rules are of version %d, sha256 %s\n", pool, set.Version, set.Rules.SHA256())
			return err
		})
	}
	return c
}

func rulesCheckCommand(env environment) *cobra.Command {
	var on target
	var pool poolName
	c := &cobra.Command{Use: "check --pool ID FILE.json", Short: "Say whether rules could be put in force in a pool; writes nothing"}
	on.flag(c, env)
	pool.declare(c, false)
	c.Args = oneFile
	c.RunE = func(c *cobra.Command, args []string) error {
		rules, err := readRules(args[0], env)
		if err != nil {
			return err
		}
		return readOn(c, &on, func(ctx context.Context, pools poolFinder) error {
			found, err := pools.Pool(ctx, string(pool))
			if err != nil {
				return err
			}
			if err := rules.Check(found.Prizes); err != nil {
				return ofFile(args[0], err)
			}
			_, err = printf(env.stdout, "pool %s: the rules fit, sha256 %s\n", pool, rules.SHA256())
			return err
		})
	}
	return c
}

func rulesRemoveCommand(env environment) *cobra.Command {
	var on target
	var by actor
	var pool poolName
	var current ifVersion
	c := &cobra.Command{Use: "remove --pool ID", Short: "Remove the rules of a pool; its past stays as it is"}
	on.flag(c, env)
	by.flag(c)
	pool.declare(c, false)
	current.flag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := current.check(); err != nil {
			return err
		}
		return changeOn(c, &on, by, func(ctx context.Context, ruler http.Ruler) error {
			set, err := ruler.SetRules(ctx, string(pool), nil, current.versions(c), string(by))
			if err != nil {
				return err
			}
			if set.Version == 0 {
				return draw.Errorf(draw.CodeNotFound, "pool %q has no rules", pool)
			}
			_, err = printf(env.stdout, "pool %s has no rules from version %d on\n", pool, set.Version)
			return err
		})
	}
	return c
}

// ifVersion is the version that the rules in force must have.
type ifVersion int64

func (v *ifVersion) flag(c *cobra.Command) {
	c.Flags().Int64Var((*int64)(v), "if-version", 0, "change nothing unless the rules in force are of this `VERSION`; 0 is for none")
}

func (v *ifVersion) check() error {
	if *v < 0 {
		return usageError{errors.New("--if-version must be 0 or above")}
	}
	return nil
}

// versions are those that the rules may have, nil for all.
func (v *ifVersion) versions(c *cobra.Command) []int64 {
	if !c.Flags().Changed("if-version") {
		return nil
	}
	return []int64{int64(*v)}
}
