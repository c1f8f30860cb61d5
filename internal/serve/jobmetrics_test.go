package serve

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/catalogue"
	"drawsvc/internal/job"
)

// TestCatalogueThatNeverCame: the age of a catalogue that never arrived grows, so that an
// alert can fire.
func TestCatalogueThatNeverCame(t *testing.T) {
	t.Parallel()
	memory := catalogue.NewMemory(nil, slog.New(slog.DiscardHandler))
	require.Zero(t, catalogueAge(memory, nil)())
	age := catalogueAge(memory, []job.Definition{{Name: catalogue.JobName}})
	before := age()
	require.Greater(t, before, 0.0)
	require.Greater(t, age(), before)
}
