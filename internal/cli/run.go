package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"drawsvc/db/migrations"
	"drawsvc/internal/draw"
	"drawsvc/internal/fault"
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

// run runs the program: args are the arguments after its name.
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
	withDefaults(root, env)
	err := root.ExecuteContext(ctx)
	if err != nil && !started {
		return setting.AsUsage(err)
	}
	return err
}

// fromEnvironment sets the flags that the command line left out. A secret on the
// command line, itself or as a file, overrides the environment.
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

// gcPercent uses memory to save time: a busy service has only some ten MB of live
// objects, so that the garbage of hundreds of requests per millisecond would start the
// collector many times a second. The environment's GOGC overrides it.
const gcPercent = 400

// Main runs the program with the given schema, and ends the process. version and commit
// are set by the linker, or "".
func Main(schema migrations.Set, version, commit string) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	keepFilesPrivate()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once
	}()
	err := run(ctx, os.Args[1:], setting.Environment{
		LookUp:    os.LookupEnv,
		Variables: variableNames,
		Stdin:     os.Stdin,
		Stdout:    os.Stdout,
		Stderr:    os.Stderr,
		Schema:    schema,
		Version:   version,
		Commit:    commit,
	})
	if err != nil && setting.Message(err) != "" {
		fmt.Fprintln(os.Stderr, "drawsvc:", setting.Message(err))
	}
	os.Exit(exitCode(err))
}

// variableNames returns the names of the process's environment variables.
func variableNames() (names []string) {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	return names
}

// commands returns all commands.
func commands(env setting.Environment) []*cobra.Command {
	return []*cobra.Command{
		serveCommand(env), migrateCommand(env), auditCommand(env), doctorCommand(env), poolCommand(env), prizeCommand(env),
		stockCommand(env), rulesCommand(env), agendaCommand(env), codesCommand(env), oddsCommand(env), simulateCommand(env), publishCommand(env), verifyCommand(env),
		receiptCommand(env), logCommand(env), exportCommand(env), userCommand(env), jobCommand(env), hookCommand(env), awardCommand(env),
		backupCommand(env), restoreCommand(env), tokenCommand(env), sealKeyCommand(env), clockCommand(env), healthcheckCommand(env), versionCommand(env), manCommand(env),
	}
}

// checkVariables refuses variables with our prefix that no flag has: otherwise a
// misspelt setting would be ignored.
func checkVariables(root *cobra.Command, env setting.Environment) error {
	known := knownVariables(root)
	names := env.Variables()
	slices.Sort(names)
	for _, name := range names {
		if !strings.HasPrefix(name, "DRAWSVC_") || known[name] || isForeign(name) {
			continue
		}
		return setting.AsUsage(fmt.Errorf("%s is no variable of drawsvc; the nearest is %s", name, nearest(name, known)))
	}
	return nil
}

// knownVariables returns the variables of all flags of all commands.
func knownVariables(c *cobra.Command) map[string]bool {
	known := map[string]bool{}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[setting.NoVariable] == nil && f.Name != "help" {
			known[setting.Variable(f.Name)] = true
		}
	})
	for _, sub := range c.Commands() {
		maps.Copy(known, knownVariables(sub))
	}
	return known
}

// isForeign reports whether the variable is set for something other than a flag. Such
// variables are set by tests, by Kubernetes for a service named drawsvc, and by teams
// for their own scripts.
func isForeign(name string) bool {
	switch {
	case strings.HasPrefix(name, "DRAWSVC_TEST_"), strings.HasPrefix(name, "DRAWSVC_X_"), slices.Contains(fault.Variables(), name):
		return true
	case name == "DRAWSVC_SERVICE_HOST", name == "DRAWSVC_PORT", name == "DRAWSVC_SERVICE_PORT":
		return true
	}
	return strings.HasPrefix(name, "DRAWSVC_PORT_") || strings.HasPrefix(name, "DRAWSVC_SERVICE_PORT_")
}

// flagError returns the error for flags that cannot be parsed; for an unknown flag it
// names the nearest known one. Flags after a misspelt command belong to the intended
// command, so then the error is about the command's name.
func flagError(c *cobra.Command, err error) error {
	if c.HasSubCommands() && c.Flags().NArg() > 0 {
		return noArguments(c, c.Flags().Args())
	}
	if wrong, isValue := errors.AsType[*pflag.InvalidValueError](err); isValue {
		return wrongValue(wrong)
	}
	unknown, ok := strings.CutPrefix(err.Error(), "unknown flag: ")
	if _, short, isShort := strings.Cut(err.Error(), " in -"); isShort { // because no flag has only one letter
		short, _, _ = strings.Cut(short, "=")
		unknown, ok, err = "--"+short, true, errors.New("unknown flag: -"+short)
	}
	if !ok {
		return err
	}
	if slices.Contains([]string{setting.ServerFlag, setting.TokenFlag, setting.TokenFlag + setting.FileSuffix}, strings.TrimPrefix(unknown, "--")) && c.Flags().Lookup(setting.DatabaseFlag) != nil {
		return alone(c.CommandPath())
	}
	known := map[string]bool{"--help": true}
	c.Flags().VisitAll(func(f *pflag.Flag) { known["--"+f.Name] = true })
	return fmt.Errorf("%w; the nearest is %s", err, nearest(unknown, known))
}

// wrongValue states what a flag accepts instead of the given value.
func wrongValue(e *pflag.InvalidValueError) error {
	takes := map[string]string{
		"int": "a whole number", "int64": "a whole number", "uint64": "a whole number from 0 on", "bool": "true or false",
		"duration": "a time such as 500ms, 10s or 1h",
	}[e.GetFlag().Value.Type()]
	if takes == "" {
		return fmt.Errorf("--%s: %w", e.GetFlag().Name, e.Unwrap())
	}
	return fmt.Errorf("--%s must be %s, not %q", e.GetFlag().Name, takes, e.GetValue())
}
