package experiments

import (
	"errors"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

func TestEveryNumberHasAFault(t *testing.T) {
	numbers := map[int]bool{4: true} // fault 4, another user with the same key, is part of fault 3
	for _, e := range experiments() {
		numbers[e.Number] = true
	}
	for n := 1; n <= 23; n++ {
		require.True(t, numbers[n], "no fault has the number %d", n)
	}
}

// TestAStepThatFailsFailsTheFault: a fault with a failed step is not reported as done.
func TestAStepThatFailsFailsTheFault(t *testing.T) {
	e := Experiment{run: func(t *trial) error { t.Must(errors.New("no such row")); return nil }}
	require.NoError(t, harness.On("cell", func(s *harness.Site) error {
		err := e.Make(&client.Trial{World: &stage.World{Site: s}})
		require.Equal(t, harness.Failed{Reason: "no such row"}, err)
		return nil
	}))
}

func TestNamesTellCellsApart(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Cells(harness.Selection{Only: regexp.MustCompile("")}) {
		require.False(t, seen[c.Name()], c.Name())
		seen[c.Name()] = true
	}
}

// TestQuickHasTheSharpest: each of the quick cells is one of all cells, and some
// controls before them must fail.
func TestQuickHasTheSharpest(t *testing.T) {
	faults, condemned := map[string]bool{}, map[string]bool{}
	for _, c := range quick() {
		require.NotNil(t, c.run)
		if c.Condemned != nil {
			condemned[c.Program] = true
		} else {
			faults[c.Experiment.Name] = true
		}
	}
	require.Len(t, faults, 13)
	require.True(t, faults[hedged().Name])
	require.Equal(t, map[string]bool{stage.Textbook: true, stage.Faulty: true, history.RefusesKnown: true, history.KeepsAnswers: true}, condemned)
}

// TestEveryDoubleIsCondemned: a double that no cell runs proves nothing.
func TestEveryDoubleIsCondemned(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{}
	for _, c := range append(controls(), tidbControls()...) {
		tried[c.Program], tried[c.begins] = true, true
	}
	for _, d := range history.Doubles() {
		require.True(t, tried[d.Program], d.Program)
	}
}
