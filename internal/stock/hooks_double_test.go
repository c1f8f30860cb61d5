package stock_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/hook"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// hasty is a broken double: it moves a cursor past a message that the receiver has not
// accepted.
type hasty struct{ *stock.Store }

// MoveCursor implements hook.Feed.
func (h hasty) MoveCursor(ctx context.Context, revision int64, from, to *hook.Cursor) (bool, error) {
	if to.Attempts > from.Attempts {
		passed := to.Passed()
		to = &passed
	}
	return h.Store.MoveCursor(ctx, revision, from, to)
}

// TestHooksSendCatches: the test fails for a relay whose cursor moves before the receiver
// has accepted. It passes for the store's relay.
func TestHooksSendCatches(t *testing.T) {
	t.Parallel()
	s := stocktest.New(t, "sqlite")
	require.Empty(t, stocktest.JudgeSending(t, s, s))
	s = stocktest.New(t, "sqlite")
	require.NotEmpty(t, stocktest.JudgeSending(t, s, hasty{s}))
}

// counting is a broken double: it compares only versions, and not the ids of entries.
type counting struct{ *stock.Store }

// Waiting implements hook.Feed.
func (c counting) Waiting(ctx context.Context, hooks []hook.Hook, now time.Time) ([]hook.Cursor, error) {
	found, err := c.Store.Waiting(ctx, hooks, now)
	for i := range found {
		found[i].Last = ""
	}
	return found, err
}

// TestHooksForkCatches: the test fails for a relay that compares only versions. It passes
// for the store's relay, whose entries have ids.
func TestHooksForkCatches(t *testing.T) {
	t.Parallel()
	s := stocktest.New(t, "sqlite")
	require.Empty(t, stocktest.JudgeForks(t, s, s))
	s = stocktest.New(t, "sqlite")
	require.NotEmpty(t, stocktest.JudgeForks(t, s, counting{s}))
}

// skipping is a broken double: it filters out the awards of steps.
type skipping struct{ *stock.Store }

// ReadPage implements hook.Feed.
func (f skipping) ReadPage(ctx context.Context, poolID string, after, upTo hook.Place) (hook.Page, error) {
	page, err := f.Store.ReadPage(ctx, poolID, after, upTo)
	isStep := func(e hook.Event) bool { return e.Type == hook.TypeClaimed }
	if !slices.ContainsFunc(page.Events, isStep) {
		return page, err
	}
	page.Events = slices.DeleteFunc(page.Events, func(e hook.Event) bool { return e.Type == hook.TypeWon })
	return page, err
}

// twice is a broken double: it reads the steps in a later snapshot than the history, so
// that the last award is missing.
type twice struct{ *stock.Store }

// ReadPage implements hook.Feed.
func (f twice) ReadPage(ctx context.Context, poolID string, after, upTo hook.Place) (hook.Page, error) {
	page, err := f.Store.ReadPage(ctx, poolID, after, upTo)
	if after != (hook.Place{}) || err != nil {
		return page, err
	}
	earlier := hook.Page{Head: page.Head}
	for _, e := range page.Events {
		if at := e.At; at.Step > 0 || at.Version < page.Head.Version {
			at.Version = min(at.Version, page.Head.Version-1)
			earlier.Note(at, "", e)
		}
	}
	return earlier, nil
}

// TestHooksStepsCatches: the test fails for a relay whose filter skips the award of a
// step. It also fails for a relay that reads the steps in a second snapshot. It passes
// for the store's relay.
func TestHooksStepsCatches(t *testing.T) {
	t.Parallel()
	s := stocktest.New(t, "sqlite")
	require.Empty(t, stocktest.JudgeSteps(t, s, s))
	s = stocktest.New(t, "sqlite")
	require.NotEmpty(t, stocktest.JudgeSteps(t, s, skipping{s}))
	s = stocktest.New(t, "sqlite")
	require.Contains(t, stocktest.JudgeSteps(t, s, twice{s}), "a step came before its award")
}
