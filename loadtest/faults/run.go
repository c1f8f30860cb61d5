package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/experiments"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
)

// cellMax is the maximum time of a cell that does not state its own.
const cellMax = 5 * time.Minute

// lateMax is how often a run that broke only rules of time is repeated. On a busy
// machine such a run proves nothing.
const lateMax = 2

// chances is the number of tries for a broken program, whose flaw may need a race to
// show.
const chances = 3

// try runs one cell, and repeats it with the same seed if it was only late. The result
// counts the repetitions.
func try(ctx context.Context, g *stage.Ground, c experiments.Cell, seed uint64) result {
	r := run(ctx, g, c, seed)
	for n := 1; n < chances && c.Condemned != nil && !r.Passed && ctx.Err() == nil; n++ {
		r = run(ctx, g, c, experiments.SeedOf(seed, c.Name(), n))
	}
	for n := 1; n <= lateMax && r.onlyLate && ctx.Err() == nil; n++ {
		late := r.Broken
		r = run(ctx, g, c, seed)
		r.Late = n
		for _, broken := range late {
			r.Notes = append(r.Notes, fmt.Sprintf("run %d: %.300s", n, broken))
		}
	}
	return r
}

func run(ctx context.Context, g *stage.Ground, c experiments.Cell, seed uint64) result {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.Longest, cellMax))
	defer cancel()
	r := newResult(c, seed)
	begin := time.Now()
	var err error
	r.Skipped, err = harness.Try(c.Name(), func(s *harness.Site) error {
		w, err := stage.NewWorld(ctx, s, g, c.Scene())
		if err != nil {
			return err
		}
		defer func() { r.output += w.Printed() }()
		t, err := client.NewTrial(w, seed, "", c.Expected())
		if err != nil {
			return err
		}
		err = show(t, c)
		r.record(t)
		if err := w.End(); err != nil {
			t.Verdict.Say(history.EndedBadly, "%v", err)
		}
		r.take(t, c)
		if !r.Passed {
			r.keep(t)
		}
		return err
	})
	r.Took = time.Since(begin).Seconds()
	if err != nil {
		r.Passed, r.onlyLate = false, false
		r.Broken = append(r.Broken, "harness: "+err.Error())
	}
	return r
}

func show(t *client.Trial, c experiments.Cell) error {
	defer t.WatchLag()()
	if err := c.Show(t); err != nil {
		return fmt.Errorf("the fault could not be made: %w", err)
	}
	return t.Judge()
}

// keep writes the history of a failed trial, and the output of its instances, to a
// temporary folder.
func (r *result) keep(t *client.Trial) {
	folder, err := os.MkdirTemp("", "drawsvc-faults-failed-")
	if err != nil {
		return
	}
	if err := t.History.Write(filepath.Join(folder, "history.jsonl")); err != nil {
		return
	}
	printed := strings.Join(append(r.Broken, t.Printed()), "\n")
	if err := os.WriteFile(filepath.Join(folder, "printed.txt"), []byte(printed), 0o600); err == nil {
		r.kept = folder
	}
}

func build(ctx context.Context, programs ...string) error {
	folder, err := os.MkdirTemp("", "drawsvc-faults-doubles-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	needed, overlays := map[string]bool{stage.Released: true}, map[string]string{}
	for _, program := range programs {
		needed[program] = true
		if d, ok := history.EditedOf(program); ok {
			if overlays[program], err = history.Overlay(root, folder, d); err != nil {
				return err
			}
		}
	}
	var builds []place.Program
	for _, program := range slices.Sorted(maps.Keys(needed)) {
		builds = append(builds, buildOf(program, overlays[program]))
	}
	return place.Build(ctx, stage.Bin, builds...)
}

// buildOf returns how a program is built, from an overlay if its source is edited.
func buildOf(program, overlay string) place.Program {
	if program == stage.Textbook {
		return place.Textbook("./" + program)
	}
	p := place.Service()
	p.Name = program
	if program == stage.Faulty || history.HasPoints(program) {
		p.Flags = []string{"-tags", "faults"}
	}
	if overlay != "" {
		p.Flags = append(p.Flags, "-overlay", overlay)
	}
	return p
}
