package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"drawsvc/db/migrations"
)

// gcPercent trades memory for time: a service at work keeps a few ten MB of
// live objects, so that the garbage of hundreds of requests per millisecond
// would start the collector many times a second. The environment's GOGC wins.
const gcPercent = 400

func main() { start(migrations.Embedded()) }

// start runs the program with the schema that it knows, and ends the process.
func start(schema migrations.Set) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	keepFilesPrivate()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once
	}()
	err := run(ctx, os.Args[1:], environment{
		lookUp:    os.LookupEnv,
		variables: variableNames,
		stdin:     os.Stdin,
		stdout:    os.Stdout,
		stderr:    os.Stderr,
		schema:    schema,
	})
	if err != nil && message(err) != "" {
		fmt.Fprintln(os.Stderr, "drawsvc:", message(err))
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
