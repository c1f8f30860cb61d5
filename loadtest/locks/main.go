package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/report"
)

type settings struct {
	do, results, page string
	only              *regexp.Regexp
}

func main() {
	harness.Main("locks", parse, func(ctx context.Context, s settings, out io.Writer) error {
		do := map[string]func(context.Context, settings, io.Writer) error{"": prove, "speed": show, "doc": publish}[s.do]
		return do(ctx, s, out)
	})
}

func parse(args []string) (s settings, err error) {
	s.do, args = harness.Command(args, "speed", "doc")
	flags := flag.NewFlagSet("locks", flag.ContinueOnError)
	flags.StringVar(&s.results, "results", "bin/locks.json", "file of the results, one JSON object in each line")
	flags.StringVar(&s.page, "page", "docs/locks.md", "page that shows the tables between its marks locks:begin and locks:end")
	s.only = harness.Only(flags, "measure the speed only of the locks")
	return s, harness.Parse(flags, args)
}

func prove(ctx context.Context, s settings, out io.Writer) error {
	if err := runSuite(ctx, s.results, out); err != nil {
		return err
	}
	file, err := os.OpenFile(s.results, os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := speeds(ctx, s.only, out, json.NewEncoder(file).Encode); err != nil {
		return err
	}
	return publish(ctx, s, out)
}

func runSuite(ctx context.Context, results string, out io.Writer) error {
	path, err := filepath.Abs(results)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout", "20m", "-run", "TestLocks|TestFaults", "./internal/locker")
	cmd.Env = append(os.Environ(), "DRAWSVC_LOCKS_OUT="+path)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the suite of the locks: %w", err)
	}
	return nil
}

func show(ctx context.Context, s settings, out io.Writer) error {
	var lines bytes.Buffer
	if err := speeds(ctx, s.only, out, json.NewEncoder(&lines).Encode); err != nil {
		return err
	}
	all, err := read(&lines)
	if err != nil {
		return err
	}
	harness.Say(out, "\n%s", table(speedColumns(), all))
	return nil
}

func publish(_ context.Context, s settings, _ io.Writer) error {
	in, err := os.Open(s.results)
	if err != nil {
		return err
	}
	defer in.Close()
	all, err := read(in)
	if err != nil {
		return fmt.Errorf("%s: %w", s.results, err)
	}
	return report.Fill(s.page, report.Section{Name: "locks", Text: tables(all)})
}
