package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"drawsvc/internal/page"
	"drawsvc/loadtest/harness"
)

type soaked struct {
	At      string         `json:"at"`
	Seed    uint64         `json:"seed"`
	CPUs    int            `json:"cpus"`
	Go      string         `json:"go"`
	Seconds float64        `json:"seconds"`
	Passed  bool           `json:"passed"`
	Rounds  int            `json:"rounds"`
	Draws   int            `json:"draws"`
	Answers map[string]int `json:"answers"`
	Faults  map[string]int `json:"faults"`
	Places  map[string]int `json:"rounds_by_place"`
	Unknown int            `json:"unknown"`
	Settled int            `json:"settled"`
	// Recoveries count times to recovery, by milliseconds, rounded up to
	// recoveryStep; Worst is the exact one.
	Recoveries map[int]int `json:"recoveries_by_ms"`
	Worst      float64     `json:"recovery_worst_ms"`
	Broken     []string    `json:"broken"`
}

const recoveryStep = 10

func newSoaked(seed uint64) *soaked {
	return &soaked{
		Seed: seed, CPUs: runtime.NumCPU(), Go: runtime.Version(), Recoveries: map[int]int{},
		Answers: map[string]int{}, Faults: map[string]int{}, Places: map[string]int{}, Broken: []string{},
	}
}

func (s *soaked) add(r *result, recoveries []time.Duration) {
	s.Rounds++
	s.Places[r.Name]++
	s.Draws += r.Draws
	s.Unknown += r.Unknown
	s.Settled += r.Settled
	addCounts(s.Answers, r.Answers)
	for _, took := range recoveries {
		ms := harness.Milliseconds(took)
		s.Recoveries[(int(ms)/recoveryStep+1)*recoveryStep]++
		s.Worst = max(s.Worst, ms)
	}
	for _, broken := range r.Broken {
		s.Broken = append(s.Broken, fmt.Sprintf("%s, seed %d: %s", r.Name, r.Seed, broken))
	}
}

func addCounts[K comparable](to, more map[K]int) {
	for kind, n := range more {
		to[kind] += n
	}
}

func sum(all []*soaked) *soaked {
	whole := newSoaked(0)
	for _, s := range all {
		whole.Seconds += s.Seconds
		whole.Rounds += s.Rounds
		whole.Draws += s.Draws
		whole.Unknown += s.Unknown
		whole.Settled += s.Settled
		whole.Worst = max(whole.Worst, s.Worst)
		whole.Broken = append(whole.Broken, s.Broken...)
		addCounts(whole.Answers, s.Answers)
		addCounts(whole.Faults, s.Faults)
		addCounts(whole.Places, s.Places)
		addCounts(whole.Recoveries, s.Recoveries)
	}
	return whole
}

func (s *soaked) median() (recoveries, ms int) {
	for _, n := range s.Recoveries {
		recoveries += n
	}
	seen := 0
	for _, ms := range slices.Sorted(maps.Keys(s.Recoveries)) {
		if seen += s.Recoveries[ms]; 2*seen >= recoveries {
			return recoveries, ms
		}
	}
	return 0, 0
}

func (s *soaked) line() string {
	faults := 0
	for _, n := range s.Faults {
		faults += n
	}
	recoveries, median := s.median()
	return fmt.Sprintf("%d rounds in %.0f s: %d draws, %d faults, %d of %d unknown settled, %d recoveries, median %d ms, worst %.0f ms",
		s.Rounds, s.Seconds, s.Draws, faults, s.Settled, s.Unknown, recoveries, median, s.Worst)
}

func (s *soaked) publish(to settings, out io.Writer) error {
	s.At = harness.Now()
	s.Passed = len(s.Broken) == 0 && s.Rounds > 0
	if err := os.MkdirAll(to.Results, 0o755); err != nil {
		return err
	}
	file := filepath.Join(to.Results, "soak.json")
	all, err := readSoaks(file)
	if err != nil {
		return err
	}
	if err := page.WriteJSON(file, append(all, s)); err != nil {
		return err
	}
	harness.Say(out, "%s; SEED=%d\n", s.line(), s.Seed)
	if !s.Passed {
		return fmt.Errorf("%d rules were broken, in %d rounds", len(s.Broken), s.Rounds)
	}
	return nil
}

// readSoaks reads what publish wrote; there may be nothing yet.
func readSoaks(file string) ([]*soaked, error) {
	all, err := harness.Read[[]*soaked](file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return all, err
}
