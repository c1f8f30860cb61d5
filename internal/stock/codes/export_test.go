package codes

import (
	"context"
	"time"
)

// PauseBy replaces the pauses of imports.
func (r *Register) PauseBy(pause func(ctx context.Context, d time.Duration)) { r.pause = pause }

// PartMax is partMax.
const PartMax = partMax

// RestAfter is restAfter.
func RestAfter(ctx context.Context, took, slowest time.Duration, left int) time.Duration {
	return restAfter(ctx, took, slowest, left)
}
