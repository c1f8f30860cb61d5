package setting

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"drawsvc/db/migrations"
	"drawsvc/internal/draw"
)

// Environment is what a command meets outside: the variables and the three
// streams.
type Environment struct {
	LookUp func(name string) (string, bool)
	// Variables returns the names of all variables.
	Variables      func() []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Schema is what the program knows of the schema; none means what is
	// embedded in it.
	Schema migrations.Set
	// Version and commit may be set by the linker, where a build has neither the
	// repository's history nor a module version. Both win over what the build knows.
	Version, Commit string
}

// IsTerminal says whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// UsageError is a command line that cannot be meant.
type UsageError struct{ error }

// AsUsage returns the error of a command line that err makes impossible to mean.
func AsUsage(err error) error { return UsageError{err} }

// Unwrap returns what is wrong with it.
func (e UsageError) Unwrap() error { return e.error }

// Message is the one line that says what went wrong.
func Message(err error) string {
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

// Variable is the environment variable of a flag.
func Variable(flag string) string {
	return "DRAWSVC_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// NoVariable is the annotation of a flag that has no environment variable,
// because the variable of its name means something else.
const NoVariable = "drawsvc_no_variable"

// FromVariable is the annotation of a flag that a variable has set.
const FromVariable = "drawsvc_from_variable"

// SetAnnotation gives a flag an annotation that is there or not.
func SetAnnotation(f *pflag.Flag, name string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[name] = []string{"true"}
}

// The flags of a service, and that of a database.
const (
	ServerFlag   = "server"
	TokenFlag    = "token"
	DatabaseFlag = "database"

	PlainHTTPFlag = "allow-plain-http"
)

// Source says who has set a flag, the stronger one last.
type Source int

// The sources of flags.
const (
	ByNobody Source = iota
	ByVariable
	ByLine
)

// SourceOf says who has set one of some flags.
func SourceOf(flags *pflag.FlagSet, names ...string) (by Source) {
	for _, name := range names {
		switch f := flags.Lookup(name); {
		case f == nil || !f.Changed:
		case f.Annotations[FromVariable] != nil:
			by = max(by, ByVariable)
		default:
			by = ByLine
		}
	}
	return by
}

// FirstOf returns the first error that is one.
func FirstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Within refuses a time out of bounds.
func Within(flag string, value, low, up time.Duration) error {
	if value < low || value > up {
		return fmt.Errorf("--%s must be %s to %s", flag, low, up)
	}
	return nil
}

// WithoutTime leaves the time out of a line for whoever waits for it.
func WithoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
