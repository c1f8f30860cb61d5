package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/setting"
)

func rulesCommand(env setting.Environment) *cobra.Command {
	return newGroup("rules", "Show, check and set the rules of a pool",
		rulesShowCommand(env), rulesSetCommand(env), rulesCheckCommand(env), rulesRemoveCommand(env))
}

func rulesShowCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "show --pool ID [--version N]", "Show the rules of a pool, those in force or earlier ones", printing, ofPool)
	var version int64
	c.Flags().Int64Var(&version, "version", 0, "the version of the pool that put the rules in force (default those in force)")
	return c.does(func([]string) error {
		if c.Flags().Changed("version") && version < 1 {
			return setting.AsUsage(errors.New("--version must be 1 or more"))
		}
		return nil
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		found, err := on.Rules(ctx, string(c.pool), version)
		if err != nil {
			return err
		}
		if c.output == outputJSON {
			return api.WriteLine(env.Stdout, &found)
		}
		document := "none: this version has removed the rules"
		if found.SHA256 != nil {
			document = string(found.Rules)
		}
		if _, err := setting.Printf(env.Stdout, "pool %s, rules of version %d, by %s at %s\n\n", c.pool, found.Version, found.Actor, found.At); err != nil {
			return err
		}
		if err := printWords(env.Stdout, found.Words); err != nil {
			return err
		}
		_, err = setting.Printf(env.Stdout, "\n%s\n", document)
		return err
	})
}

func rulesSetCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "set --pool ID FILE.json", "Put rules in force in a pool, in place of those before", acting, ofPool)
	c.Example = `  drawsvc rules set --pool spring rules.json`
	c.Args = oneFile
	var current ifVersion
	current.flag(c.Command)
	var file *rulesOfFile
	return c.does(func(args []string) (err error) {
		if err := current.check(); err != nil {
			return err
		}
		file, err = readRules(args[0], env)
		return err
	}, func(ctx context.Context, on *api.Client, args []string) error {
		set, err := on.SetRules(ctx, string(c.pool), string(file.text), current.versions(c.Command))
		if err != nil {
			return ofFile(args[0], err)
		}
		_, err = setting.Printf(env.Stdout, "pool %s: the rules are of version %d, sha256 %s\n", c.pool, set.Version, orDash(set.SHA256))
		return err
	})
}

func rulesCheckCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "check --pool ID FILE.json", "Check whether rules fit a pool; writes nothing", ofPool)
	c.Args = oneFile
	var file *rulesOfFile
	return c.does(func(args []string) (err error) {
		file, err = readRules(args[0], env)
		return err
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		words, err := checkAgainst(ctx, on, string(c.pool), file)
		if err != nil {
			return err
		}
		if _, err := setting.Printf(env.Stdout, "pool %s: the rules fit, sha256 %s\n\n", c.pool, file.SHA256()); err != nil {
			return err
		}
		return printWords(env.Stdout, words)
	})
}

// printWords prints rules in words, one sentence on a line.
func printWords(w io.Writer, words []string) error {
	for _, sentence := range words {
		if _, err := setting.Printf(w, "%s\n", sentence); err != nil {
			return err
		}
	}
	return nil
}

// checkAgainst checks whether the rules of a file fit the prizes of a pool, and returns
// the rules in words.
func checkAgainst(ctx context.Context, on *api.Client, poolID string, file *rulesOfFile) (words []string, err error) {
	found, err := on.Pool(ctx, poolID)
	if err != nil {
		return nil, err
	}
	prizes, err := found.ReadPrizes()
	if err != nil {
		return nil, err
	}
	words = rules.Words(file.Rules, rules.Telling{Name: rules.NamesOf(prizes), Currency: found.Currency})
	return words, file.fits(prizes)
}

func rulesRemoveCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "remove --pool ID", "Remove the rules of a pool; its past stays as it is", acting, ofPool)
	var current ifVersion
	current.flag(c.Command)
	return c.does(func([]string) error { return current.check() }, func(ctx context.Context, on *api.Client, _ []string) error {
		set, err := on.SetRules(ctx, string(c.pool), "", current.versions(c.Command))
		if err != nil {
			return err
		}
		_, err = setting.Printf(env.Stdout, "pool %s has no rules from version %d on\n", c.pool, set.Version)
		return err
	})
}

// ifVersion is the version that the rules in force must have.
type ifVersion int64

func (v *ifVersion) flag(c *cobra.Command) {
	c.Flags().Int64Var((*int64)(v), "if-version", 0, "change nothing unless the rules in force are of this `VERSION`; 0 is for none")
}

func (v *ifVersion) check() error {
	if *v < 0 {
		return setting.AsUsage(errors.New("--if-version must be 0 or above"))
	}
	return nil
}

// versions returns the versions that the rules may have, nil for all.
func (v *ifVersion) versions(c *cobra.Command) []int64 {
	if !c.Flags().Changed("if-version") {
		return nil
	}
	return []int64{int64(*v)}
}
