package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/experiments"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

const (
	// roundTime is how long one trial of a soak lasts; then its history is
	// judged and a new one begins.
	roundTime = 20 * time.Second
	// roundsEach is how many trials a world sees before the next mode's turn.
	roundsEach = 3
)

// soak makes random faults until the time is over, and adds its counts to those
// that are published. Its error is the verdict.
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
			c := all[(turn+int(s.seed%uint64(len(all))))%len(all)] // short soaks with other seeds see other places
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

// soakAt is one turn: a world and some trials on it.
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
		r.report(t)
		r.take(t, c)
		if !r.Passed {
			r.keep(t)
		}
		total.add(&r, t.Recoveries)
		notes := r.Notes
		r.Took, r.Notes = time.Since(began).Seconds(), nil
		harness.Say(out, "%-48s round %d: %s; %s\n", c.Name(), n+1, r.line(total.Seed), strings.Join(notes, ", "))
		if !r.Passed {
			return nil // it is counted; what follows on this world could be its consequence
		}
	}
	return w.End()
}

// round is one trial: load, and faults one after another.
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
