package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"drawsvc/db/migrations"
	"drawsvc/internal/setting"
)

// gcPercent trades memory for time: a service at work keeps a few ten MB of
// live objects, so that the garbage of hundreds of requests per millisecond
// would start the collector many times a second. The environment's GOGC wins.
const gcPercent = 400

// Main runs the program with the schema that it knows, and ends the process. version and
// commit are what the linker says, "" for nothing.
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

// variableNames are the names of the variables of the process.
func variableNames() (names []string) {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	return names
}
