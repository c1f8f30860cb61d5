package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

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
			if overlays[program], err = d.Overlay(root, folder); err != nil {
				return err
			}
		}
	}
	return harness.Build(ctx, "loadtest/textbook/go.mod", stage.Bin, func(to string) (builds [][]string) {
		for _, program := range slices.Sorted(maps.Keys(needed)) {
			builds = append(builds, arguments(program, filepath.Join(to, program), overlays[program]))
		}
		return builds
	})
}

func arguments(program, to, overlay string) []string {
	switch {
	case program == stage.Textbook:
		return []string{"build", "-C", "loadtest/textbook", "-o", to, "./broken"}
	case program == stage.Faulty:
		return []string{"build", "-trimpath", "-tags", "faults", "-o", to, "./cmd/drawsvc"}
	case history.HasPoints(program):
		return []string{"build", "-trimpath", "-tags", "faults", "-overlay", overlay, "-o", to, "./cmd/drawsvc"}
	case overlay != "":
		return []string{"build", "-trimpath", "-overlay", overlay, "-o", to, "./cmd/drawsvc"}
	}
	return []string{"build", "-trimpath", "-o", to, "./cmd/drawsvc"}
}
