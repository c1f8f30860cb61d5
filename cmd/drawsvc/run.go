package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"drawsvc/db/migrations"
	"drawsvc/internal/draw"
	"drawsvc/internal/publish"
	"drawsvc/internal/stock"
)

// environment is what a command meets outside: the variables and the three
// streams.
type environment struct {
	lookUp func(name string) (string, bool)
	// variables returns the names of all variables.
	variables      func() []string
	stdin          io.Reader
	stdout, stderr io.Writer
	// schema is what the program knows of the schema; none means what is
	// embedded in it.
	schema migrations.Set
}

// isTerminal says whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// The exit codes.
const (
	exitOK        = 0
	exitFailure   = 1
	exitUsage     = 2
	exitViolation = 3
	exitPending   = 4
)

// usageError is a command line that cannot be meant.
type usageError struct{ error }

// Unwrap returns what is wrong with it.
func (e usageError) Unwrap() error { return e.error }

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
	_, ok := errors.AsType[usageError](err)
	return ok || draw.CodeOf(err) == draw.CodeInvalidRequest
}

// message is the one line that says what went wrong.
func message(err error) string {
	if e, ok := errors.AsType[*draw.Error](err); ok {
		text := e.Detail
		if e.Err != nil && e.Code != draw.CodeLogForked { // whose cause says the same
			text += ": " + e.Err.Error()
		}
		return oneLine(text)
	}
	return oneLine(err.Error())
}

// oneLine makes one line of a text, and says what it repeats once: PostgreSQL's
// driver has a line for each way that it tried to one address.
func oneLine(text string) string {
	var out strings.Builder
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || seen[line] {
			continue
		}
		switch said := out.String(); {
		case strings.HasSuffix(said, ":"):
			out.WriteString(" ")
		case said != "":
			out.WriteString("; ")
		}
		seen[line] = true
		out.WriteString(escapeControls(line)) // a service that is asked may say anything
	}
	return out.String()
}

// run is the program: args are what follows its name.
func run(ctx context.Context, args []string, env environment) error {
	started := false
	root := &cobra.Command{
		Use:           "drawsvc",
		Short:         "Prize draws that cannot over-issue",
		Version:       readVersion().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return usageError{errors.New("a command is missing: try drawsvc --help")}
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
	setAnnotation(root.Flags().Lookup("version"), noVariable)
	root.SetFlagErrorFunc(flagError)
	root.SetArgs(args)
	root.SetIn(env.stdin)
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	root.AddCommand(commands(env)...)
	withCompletion(root, env)
	err := root.ExecuteContext(ctx)
	if err != nil && !started {
		return usageError{err}
	}
	return err
}

// variable is the environment variable of a flag.
func variable(flag string) string {
	return "DRAWSVC_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// noVariable is the annotation of a flag that has no environment variable,
// because the variable of its name means something else.
const noVariable = "drawsvc_no_variable"

// fromVariable is the annotation of a flag that a variable has set.
const fromVariable = "drawsvc_from_variable"

func setAnnotation(f *pflag.Flag, name string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[name] = []string{"true"}
}

// fromEnvironment sets the flags that the command line left out. A secret that
// the command line gives, itself or as a file, is given.
func fromEnvironment(flags *pflag.FlagSet, env environment) error {
	given := map[string]bool{"help": true}
	flags.Visit(func(f *pflag.Flag) {
		secret := strings.TrimSuffix(f.Name, fileSuffix)
		given[secret], given[secret+fileSuffix] = true, true
	})
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		value, ok := env.lookUp(variable(f.Name))
		if !ok || given[f.Name] || f.Annotations[noVariable] != nil || failed != nil {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			if wrong, isValue := errors.AsType[*pflag.InvalidValueError](err); isValue {
				err = wrongValue(wrong)
			}
			failed = usageError{errors.New(variable(f.Name) + ": " + err.Error())}
		}
		setAnnotation(f, fromVariable)
	})
	return failed
}
