package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"time"

	"drawsvc/loadtest/harness"
)

// wrkResult is the line that draw.lua and draw.js print at their end; times are in
// microseconds.
type wrkResult struct {
	Requests int64 `json:"requests"`
	Duration int64 `json:"duration"`
	Bytes    int64 `json:"bytes"`
	Connect  int64 `json:"connect"`
	Read     int64 `json:"read"`
	Write    int64 `json:"write"`
	// Status counts the answers of 400 and above, which Requests includes.
	Status  int64 `json:"status"`
	Timeout int64 `json:"timeout"`
	// Dropped counts the draws that k6 did not send although they were due.
	Dropped int64 `json:"dropped"`
	P50     int64 `json:"p50"`
	P90     int64 `json:"p90"`
	P99     int64 `json:"p99"`
	P999    int64 `json:"p999"`
	Max     int64 `json:"max"`

	// cpu is the CPU time of wrk or k6 itself.
	cpu time.Duration
}

func parseWrk(output []byte) (wrkResult, error) {
	lines := bytes.Split(bytes.TrimSpace(output), []byte("\n"))
	var r wrkResult
	decoder := json.NewDecoder(bytes.NewReader(lines[len(lines)-1]))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return r, fmt.Errorf("the load generator has printed no result: %w\n%s", err, output)
	}
	if r.Requests <= 0 || r.Duration <= 0 {
		return r, fmt.Errorf("wrk got no answer\n%s", output)
	}
	return r, nil
}

// answered counts the expected answers: sold out is 409.
func (r wrkResult) answered(c candidate) int64 {
	if c.isRefused() {
		return r.Status
	}
	return r.Requests - r.Status
}

// refused returns the share of requests without the expected answer.
func (r wrkResult) refused(c candidate) float64 {
	lost := r.Connect + r.Read + r.Write + r.Timeout
	return float64(r.Requests-r.answered(c)+lost) / float64(r.Requests+lost)
}

// load sends draws to the instances for some seconds, by wrk, or by k6 if the candidate
// has a share.
func (b *benchmark) load(ctx context.Context, c candidate, instances []*harness.Process, seconds int) (wrkResult, error) {
	generator := b.wrk
	if c.share > 0 {
		generator = b.k6
	}
	cmd, err := generator(ctx, c, instances, seconds)
	if err != nil {
		return wrkResult{}, err
	}
	output, err := cmd.CombinedOutput()
	if err != nil {
		return wrkResult{}, errors.Join(fmt.Errorf("%s: %w\n%s", cmd.Path, err, output), ctx.Err())
	}
	r, err := parseWrk(output)
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return r, err
}

func (b *benchmark) wrk(ctx context.Context, c candidate, instances []*harness.Process, seconds int) (*exec.Cmd, error) {
	threads, connections := b.threads, b.callers(c)
	if len(instances) > 1 {
		threads = len(instances) // one for each instance
	}
	threads = min(threads, connections)
	connections -= connections % threads
	b.seed++
	args := []string{
		"-t", fmt.Sprint(threads), "-c", fmt.Sprint(connections), "-d", fmt.Sprintf("%ds", seconds), "--timeout", "10s",
		"-s", "loadtest/bench/draw.lua", instances[0].URL, "--",
		"token=" + harness.DrawToken, "pool=" + poolOf(c), fmt.Sprintf("seed=%d", b.seed), fmt.Sprintf("count=%d", c.units()),
	}
	if c.keys != "" {
		args = append(args, "keys="+c.keys)
	}
	if c.users != "" {
		args = append(args, "users="+c.users)
	}
	if c.pools > 0 {
		args = append(args, fmt.Sprintf("pools=%d", c.pools))
	}
	if len(instances) > 1 {
		args = append(args, "also="+strings.Join(ports(instances[1:]), ","))
	}
	return exec.CommandContext(ctx, "wrk", args...), nil
}

func (b *benchmark) callers(c candidate) int {
	if c.connections > 0 {
		return c.connections
	}
	return b.connections
}

func ports(instances []*harness.Process) []string {
	var list []string
	for _, i := range instances {
		if u, err := url.Parse(i.URL); err == nil {
			list = append(list, u.Port())
		}
	}
	return list
}
