package stock_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// judgeLives reports the faults in the steps of a pool. These are numbers with a gap, a
// step that the state of its award forbids, and an award without exactly one end.
func judgeLives(steps []draw.Step, awards int) (faults []string) {
	states, ends := map[int64]draw.AwardState{}, map[int64]int{}
	for i, s := range steps {
		if s.N != int64(i)+1 {
			faults = append(faults, fmt.Sprintf("step %d has the number %d", i+1, s.N))
		}
		from, known := states[s.Award]
		if !known {
			from = draw.AwardWon
		}
		next, refusal := draw.Next(from, s.What, draw.LifeFacts{NeedsClaim: true})
		if refusal != "" || next != s.State || next == from {
			faults = append(faults, fmt.Sprintf("award %d: %s from %s", s.Award, s.What, from))
		}
		if states[s.Award] = s.State; s.State == draw.AwardVoided {
			ends[s.Award]++
		}
	}
	if len(ends) != awards {
		faults = append(faults, fmt.Sprintf("%d awards ended", len(ends)))
	}
	for award, n := range ends {
		if n != 1 {
			faults = append(faults, fmt.Sprintf("award %d has %d ends", award, n))
		}
	}
	return faults
}

// stepAtOnce makes 50 calls for steps of one award at once. It returns, for each
// requested kind, the numbers of the steps in the answers.
func stepAtOnce(t *testing.T, s *stock.Store, award int64) map[draw.StepKind][]int64 {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	numbers := map[draw.StepKind][]int64{}
	kinds := []draw.StepKind{draw.StepClaimed, draw.StepFulfilled, draw.StepVoided}
	for i := range 50 {
		all.Go(func() {
			w := draw.WantedStep{Award: award, What: kinds[i%len(kinds)]}
			if w.What == draw.StepVoided {
				w.Reason = "test"
			}
			for {
				step, _, err := s.Step(t.Context(), "p", w, "test")
				switch draw.CodeOf(err) {
				case draw.CodeContended, draw.CodeOverloaded:
					continue
				case draw.CodeAwardEnded:
				default:
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					numbers[w.What] = append(numbers[w.What], step.N)
					mu.Unlock()
				}
				return
			}
		})
	}
	all.Wait()
	return numbers
}

// TestLivesHaveOneCourse: each of 100 awards gets 50 claims, fulfilments and voids at
// once. Equal calls get the same step, each award has one end, and the numbers have no
// gap. judgeLives finds a gap, a second end and a forbidden step.
func TestLivesHaveOneCourse(t *testing.T) {
	t.Parallel()
	const awards = 100
	s := stocktest.New(t, "postgres")
	stocktest.Pool(t, s, "p", awards)
	r, err := rules.Parse([]byte(`{"claims":{}}`))
	require.NoError(t, err)
	_, err = s.SetRules(t.Context(), "p", r, nil, "test")
	require.NoError(t, err)
	keys := make([]string, awards)
	for i := range keys {
		keys[i] = fmt.Sprint("d", i)
	}
	require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, stocktest.Plan("p", 3, "a", 0, keys...)))
	for i := range awards {
		for what, numbers := range stepAtOnce(t, s, int64(4+i)) {
			answered := slices.Compact(slices.Sorted(slices.Values(numbers)))
			if what == draw.StepClaimed { // a claim of a fulfilled award gets the step that fulfilled it
				require.LessOrEqual(t, len(answered), 2)
				continue
			}
			require.Len(t, answered, 1, "%s is one step", what)
		}
	}
	steps, err := s.StepsAfter(t.Context(), "p", 0, 10*awards)
	require.NoError(t, err)
	require.Empty(t, judgeLives(steps, awards))
	stocktest.NoViolations(t, s, "p")

	last := len(steps) - 1
	gap, twice, unlawful := slices.Clone(steps), slices.Clone(steps), slices.Clone(steps)
	gap[last].N++
	twice = append(twice, steps[last])
	twice[last+1].N++
	unlawful[0].What, unlawful[0].State = draw.StepReopened, draw.AwardClaimed
	for name, broken := range map[string][]draw.Step{"a gap": gap, "two ends": twice, "an unlawful step": unlawful} {
		require.NotEmpty(t, judgeLives(broken, awards), name)
	}
}

// judgeStepFiles reports the faults of code that writes step files. If the last line is
// bad, it must write nothing. If a file is sent a second time, it must write nothing
// more.
func judgeStepFiles(t *testing.T, do func(s *stock.Store, lines []string) error) (faults []string) {
	t.Helper()
	s := stocktest.New(t, "sqlite")
	stocktest.Pool(t, s, "p", 3)
	require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, stocktest.Plan("p", 2, "a", 0, "d1", "d2", "d3")))
	last := func() int64 {
		n, err := s.LastStep(t.Context(), "p")
		require.NoError(t, err)
		return n
	}
	good := []string{"3,fulfilled", "4,fulfilled", "5,fulfilled"}
	if do(s, append(slices.Clone(good), "6,fulfilled")) == nil {
		faults = append(faults, "a bad line was accepted")
	}
	if n := last(); n > 0 {
		faults = append(faults, fmt.Sprintf("a file with a bad last line wrote %d steps", n))
	}
	for range 2 {
		require.NoError(t, do(s, good))
		if n := last(); n != int64(len(good)) {
			faults = append(faults, fmt.Sprintf("%d steps of %d awards", n, len(good)))
		}
	}
	return faults
}

// stepFile writes the steps of a file with the given lines.
func stepFile(t *testing.T, s *stock.Store, lines ...string) error {
	t.Helper()
	text := strings.NewReader("award,to\n" + strings.Join(lines, "\n") + "\n")
	_, err := s.StepFile(t.Context(), "p", text, draw.StepFile{Actor: "test", MayStep: func(draw.StepKind) error { return nil }})
	return err
}

// TestStepFilesCatch: the test fails for code that writes line by line, and passes for
// the store's.
func TestStepFilesCatch(t *testing.T) {
	t.Parallel()
	require.Empty(t, judgeStepFiles(t, func(s *stock.Store, lines []string) error { return stepFile(t, s, lines...) }))
	require.Contains(t, judgeStepFiles(t, func(s *stock.Store, lines []string) error {
		for _, line := range lines {
			if err := stepFile(t, s, line); err != nil {
				return err
			}
		}
		return nil
	}), "a file with a bad last line wrote 3 steps")
}
