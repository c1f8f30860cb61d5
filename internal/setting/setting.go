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

// Environment is the environment of a command: the variables and the three streams.
type Environment struct {
	LookUp func(name string) (string, bool)
	// Variables returns the names of all variables.
	Variables      func() []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Schema is the schema that the program uses; the zero value means the embedded one.
	Schema migrations.Set
	// Version and Commit are set by the linker for builds without the repository's history
	// and without a module version. If set, they take precedence over the build information.
	Version, Commit string
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// UsageError is the error of an invalid command line.
type UsageError struct{ error }

// AsUsage marks err as the error of an invalid command line.
func AsUsage(err error) error { return UsageError{err} }

// Unwrap returns the reason.
func (e UsageError) Unwrap() error { return e.error }

// Message returns the error in one line.
func Message(err error) string {
	if e, ok := errors.AsType[*draw.Error](err); ok {
		text := e.Detail
		if e.Err != nil && e.Code != draw.CodeLogForked { // the cause repeats the message
			text += ": " + e.Err.Error()
		}
		return oneLine(text)
	}
	return oneLine(err.Error())
}

// oneLine makes one line of a text and removes repeated lines. PostgreSQL's driver
// returns a line for each way in which it tried the same address.
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
		out.WriteString(escapeControls(line)) // a service's response may contain anything
	}
	return out.String()
}

// Variable returns the name of a flag's environment variable.
func Variable(flag string) string {
	return "DRAWSVC_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// NoVariable is the annotation of a flag that no environment variable sets, because the
// variable of that name has another meaning.
const NoVariable = "drawsvc_no_variable"

// FromVariable is the annotation of a flag that was set by a variable.
const FromVariable = "drawsvc_from_variable"

// SetAnnotation adds an annotation without a value to a flag.
func SetAnnotation(f *pflag.Flag, name string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[name] = []string{"true"}
}

// The names of flags. DatabaseFlag is for commands on a database, the others for calls of
// a service.
const (
	ServerFlag   = "server"
	TokenFlag    = "token"
	DatabaseFlag = "database"

	PlainHTTPFlag = "allow-plain-http"
)

// Source is the source of a flag's value. Later values take precedence.
type Source int

// The sources of flags.
const (
	ByNobody Source = iota
	ByVariable
	ByLine
)

// SourceOf returns the strongest source that set any of the named flags.
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

// FirstOf returns the first non-nil error.
func FirstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Within returns an error unless a flag's duration is between low and up.
func Within(flag string, value, low, up time.Duration) error {
	if value < low || value > up {
		return fmt.Errorf("--%s must be %s to %s", flag, low, up)
	}
	return nil
}

// WithoutTime removes the time from log lines that a person reads while waiting.
func WithoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
