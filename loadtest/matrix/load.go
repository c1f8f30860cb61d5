package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
)

type summary struct {
	Pool    string                        `json:"pool"`
	Seconds float64                       `json:"seconds"`
	Passed  bool                          `json:"passed"`
	Failed  []string                      `json:"failed"`
	Prizes  []counted                     `json:"prizes"`
	Metrics map[string]map[string]float64 `json:"metrics"`
}

// loadRun is a script's run: its exit code, its output and its summary, nil if it did
// not get that far.
type loadRun struct {
	exit    int
	output  string
	summary *summary
}

// load runs a script against the instances. It returns an error only if the script
// could not be run at all. If api is set, k6's REST API is served on that address.
func load(ctx context.Context, s *harness.Site, c cell, urls []string, api string) (loadRun, error) {
	file := filepath.Join(s.TempDir(), "summary.json")
	args := []string{"run", "--quiet", "--no-usage-report", "--log-format", "raw", "--no-color",
		"-e", "BASE_URL=" + strings.Join(urls, ","), "-e", "ADMIN_TOKEN=" + harness.AdminToken, "-e", "DRAW_TOKEN=" + harness.DrawToken, "-e", "SUMMARY=" + file}
	for _, option := range c.options {
		args = append(args, "-e", option)
	}
	if api != "" {
		args = append(args, "--address", api)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(place.Bin, "k6"), append(args, "loadtest/k6/"+c.script+".js")...)
	cmd.Env = append(os.Environ(), "K6_AUTO_EXTENSION_RESOLUTION=false")
	output, err := cmd.CombinedOutput()
	run := loadRun{output: string(output)}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		run.exit = exit.ExitCode()
	} else if err != nil {
		return run, fmt.Errorf("run k6: %w", err)
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return run, nil
	}
	if err != nil {
		return run, err
	}
	return run, json.Unmarshal(text, &run.summary)
}

// metric returns one figure of a summary, 0 if it is missing.
func (s *summary) metric(name, key string) float64 { return s.Metrics[name][key] }
