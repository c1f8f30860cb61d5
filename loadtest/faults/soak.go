package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/experiments"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/report"
)

const (
	// roundTime is how long one trial of a soak lasts; then its history is judged and a
	// new one begins.
	roundTime = 20 * time.Second
	// roundsEach is the number of trials on a world before the soak continues with the
	// next mode.
	roundsEach = 3
)

// soak makes random faults until the time is over, and adds its counts to the published
// ones. Its error is the verdict.
func soak(ctx context.Context, s settings, out io.Writer) error {
	harness.Say(out, "SEED=%d DURATION=%v\nbuilding the service with fault points\n", s.seed, s.lasting)
	if err := build(ctx, stage.Faulty); err != nil {
		return err
	}
	total := newSoaked(s.seed)
	begin := time.Now()
	err := harness.On("soak", func(whole *harness.Site) error {
		g := stage.NewGround(whole)
		for turn := 0; time.Since(begin) < s.lasting && ctx.Err() == nil; turn++ {
			all := experiments.SoakCells()
			c := all[(turn+int(s.seed%uint64(len(all))))%len(all)] // short soaks with other seeds begin at other cells
			if !s.Only.MatchString(c.Name()) {
				continue
			}
			left := s.lasting - time.Since(begin)
			err := harness.On(c.Name(), func(own *harness.Site) error {
				return soakAt(ctx, own, g, c, experiments.SeedOf(s.seed, c.Name(), turn), left, total, out)
			})
			if err != nil {
				total.Broken = append(total.Broken, fmt.Sprintf("%s, turn %d: %v", c.Name(), turn, err))
				harness.Say(out, "%s: %v\n", c.Name(), err)
			}
		}
		return nil
	})
	total.Seconds = time.Since(begin).Round(time.Second).Seconds()
	return errors.Join(err, total.publish(s, out))
}

// soakAt creates one world and runs some trials on it.
func soakAt(ctx context.Context, own *harness.Site, g *stage.Ground, c experiments.Cell, seed uint64, left time.Duration, total *soaked, out io.Writer) error {
	w, err := stage.NewWorld(ctx, own, g, c.Scene())
	if err != nil {
		return err
	}
	until := time.Now().Add(left)
	for n := 0; n < roundsEach && time.Now().Before(until) && ctx.Err() == nil; n++ {
		began := time.Now()
		t, err := client.NewTrial(w, experiments.SeedOf(seed, "round", n), fmt.Sprintf("r%d-", n), c.Expected())
		if err != nil {
			return err
		}
		if err := total.round(t); err != nil {
			t.Verdict.Say(history.Fault, "%v", err)
		}
		r := newResult(c, t.Seed)
		r.record(t)
		r.take(t, c)
		if !r.Passed {
			r.keep(t)
		}
		total.add(&r, t.Recoveries)
		notes := r.Notes
		r.Took, r.Notes = time.Since(began).Seconds(), nil
		harness.Say(out, "%-48s round %d: %s; %s\n", c.Name(), n+1, r.line(total.Seed), strings.Join(notes, ", "))
		if !r.Passed {
			return nil // the failure is counted; later failures on this world could be consequences of it
		}
	}
	return w.End()
}

// round runs one trial: load, and faults in sequence.
func (s *soaked) round(t *client.Trial) error {
	if err := t.MakeSmall(); err != nil {
		return err
	}
	defer t.WatchLag()()
	fitting := experiments.FittingTo(t.Scene)
	l := t.StartLoad(client.WorkersUsual)
	defer l.Stop()
	for until := time.Now().Add(roundTime); time.Now().Before(until) && t.Ctx.Err() == nil; {
		t.Sleep(500, 3000)
		e := fitting[t.Rand.IntN(len(fitting))]
		t.Internal = t.Internal || e.Internal
		t.Ended = time.Time{}
		err := e.Make(t)
		if t.Ended.IsZero() {
			t.Ended = time.Now()
		}
		s.Faults[e.Name]++
		t.Note("%s", e.Name)
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		t.Recover(t.Ended)
	}
	l.Stop()
	return t.Judge()
}

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
	// Recoveries counts times to recovery, by milliseconds, rounded up to recoveryStep;
	// Worst is the exact maximum.
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
		ms := report.Milliseconds(took)
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

func (s *soaked) faults() (n int) {
	for _, times := range s.Faults {
		n += times
	}
	return n
}

func (s *soaked) line() string {
	recoveries, median := s.median()
	return fmt.Sprintf("%d rounds in %.0f s: %d draws, %d faults, %d of %d unknown settled, %d recoveries, median %d ms, worst %.0f ms",
		s.Rounds, s.Seconds, s.Draws, s.faults(), s.Settled, s.Unknown, recoveries, median, s.Worst)
}

func (s *soaked) publish(to settings, out io.Writer) error {
	s.At = report.Now()
	s.Passed = len(s.Broken) == 0 && s.Rounds > 0
	file := filepath.Join(to.Results, "soak.json")
	all, err := readSoaks(file)
	if err != nil {
		return err
	}
	if err := report.WriteJSON(file, append(all, s)); err != nil {
		return err
	}
	harness.Say(out, "%s; SEED=%d\n", s.line(), s.Seed)
	if !s.Passed {
		return fmt.Errorf("%d rules were broken, in %d rounds", len(s.Broken), s.Rounds)
	}
	return nil
}

// readSoaks reads the file that publish wrote; it may not exist yet.
func readSoaks(file string) ([]*soaked, error) {
	all, err := report.Read[[]*soaked](file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return all, err
}
