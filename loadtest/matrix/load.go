package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
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

// loadRun is a script's run: its exit code, its output and its summary. The summary is
// nil if the run ended before writing it.
type loadRun struct {
	exit    int
	output  string
	summary *summary
}

// load runs a script against the instances. It returns an error only if the script
// could not be run at all. If api is set, k6's REST API is served on that address.
func load(ctx context.Context, s *harness.Site, c cell, urls []string, api string) (loadRun, error) {
	file := filepath.Join(s.TempDir(), "summary.json")
	options := append([]string{
		"BASE_URL=" + strings.Join(urls, ","), "ADMIN_TOKEN=" + harness.AdminToken, "DRAW_TOKEN=" + harness.DrawToken, "SUMMARY=" + file,
	}, c.options...)
	var more []string
	if api != "" {
		more = []string{"--address", api}
	}
	var run loadRun
	var err error
	if run.exit, run.output, err = place.RunScript(ctx, c.script, options, more...); err != nil {
		return run, err
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
