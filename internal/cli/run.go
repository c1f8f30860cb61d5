package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"drawsvc/internal/draw"
	"drawsvc/internal/publish"
	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
)

// The exit codes.
const (
	exitOK        = 0
	exitFailure   = 1
	exitUsage     = 2
	exitViolation = 3
	exitPending   = 4
)

// errViolation: an audit found that a rule is broken; the table has said so.
var errViolation = errors.New("the audit found violations")

func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errViolation), errors.Is(err, errDanger), errors.Is(err, errUnlikely), errors.Is(err, stock.ErrViolations),
		errors.Is(err, errUnproven), errors.Is(err, stock.ErrForked), errors.Is(err, publish.ErrForked), draw.CodeOf(err) == draw.CodeLogForked:
		return exitViolation
	case errors.Is(err, errPending):
		return exitPending
	case isUsage(err):
		return exitUsage
	default:
		return exitFailure
	}
}

func isUsage(err error) bool {
	_, ok := errors.AsType[setting.UsageError](err)
	return ok || draw.CodeOf(err) == draw.CodeInvalidRequest
}

// run is the program: args are what follows its name.
func run(ctx context.Context, args []string, env setting.Environment) error {
	started := false
	root := &cobra.Command{
		Use:           "drawsvc",
		Short:         "Prize draws that cannot over-issue",
		Version:       setting.ReadVersion(env).String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return setting.AsUsage(errors.New("a command is missing: try drawsvc --help"))
		},
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			started = true
			if err := checkVariables(c.Root(), env); err != nil {
				return err
			}
			return fromEnvironment(c.Flags(), env)
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.InitDefaultVersionFlag()
	setting.SetAnnotation(root.Flags().Lookup("version"), setting.NoVariable)
	root.SetFlagErrorFunc(flagError)
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.AddCommand(commands(env)...)
	withCompletion(root, env)
	err := root.ExecuteContext(ctx)
	if err != nil && !started {
		return setting.AsUsage(err)
	}
	return err
}

// fromEnvironment sets the flags that the command line left out. A secret that
// the command line gives, itself or as a file, is given.
func fromEnvironment(flags *pflag.FlagSet, env setting.Environment) error {
	given := map[string]bool{"help": true}
	flags.Visit(func(f *pflag.Flag) {
		secret := strings.TrimSuffix(f.Name, setting.FileSuffix)
		given[secret], given[secret+setting.FileSuffix] = true, true
	})
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		value, ok := env.LookUp(setting.Variable(f.Name))
		if !ok || given[f.Name] || f.Annotations[setting.NoVariable] != nil || failed != nil {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			if wrong, isValue := errors.AsType[*pflag.InvalidValueError](err); isValue {
				err = wrongValue(wrong)
			}
			failed = setting.AsUsage(errors.New(setting.Variable(f.Name) + ": " + err.Error()))
		}
		setting.SetAnnotation(f, setting.FromVariable)
	})
	return failed
}
