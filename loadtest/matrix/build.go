package main

import (
	"context"
	"path/filepath"

	"drawsvc/loadtest/site"
)

// bin is where everything is built to, from the root of the repository.
const bin = "loadtest/bin"

// build makes k6, the service and the textbook programs, each from its own
// go.mod, so that versions are pinned.
func build(ctx context.Context) error {
	return site.Build(ctx, "loadtest/k6/go.mod", bin, func(to string) [][]string {
		return [][]string{
			{"build", "-C", "loadtest/k6", "-o", filepath.Join(to, "k6"), "go.k6.io/k6/v2"},
			{"build", "-C", "loadtest/textbook", "-o", to + "/", "./..."},
			{"build", "-o", filepath.Join(to, service), "./cmd/drawsvc"},
		}
	})
}
