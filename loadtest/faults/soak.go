package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/harness"
)

const (
	// roundTime is how long one trial of a soak lasts; then its history is
	// judged and a new one begins.
	roundTime = 20 * time.Second
	// roundsEach is how many trials a world sees before the next mode's turn.
	roundsEach = 3
)

// soakPlaces are the places of a soak, in turn: all modes, all databases, and
// in external mode every lock once.
func soakPlaces() []place {
	return []place{
		{"postgres", "for-update", "", 3}, {"mysql", "optimistic", "", 3}, {"postgres", "external", "redis×3", 3},
		{"sqlite", "for-update", "", 1}, {"mysql", "for-update", "", 3}, {"postgres", "optimistic", "", 3},
		{"mysql", "external", "table", 3}, {"sqlite", "optimistic", "", 1}, {"postgres", "external", "zookeeper", 3},
		{"postgres", "external", "session", 3}, {"mysql", "external", "etcd", 3}, {"sqlite", "external", "table", 1},
		{"postgres", "external", "row", 3}, {"mysql", "external", "redis", 3},
	}
}

// soak makes random faults until the time is over, and adds its counts to those
// that are published. Its error is the verdict.
func soak(ctx context.Context, s settings, out io.Writer) error {
	harness.Say(out, "SEED=%d DURATION=%v\nbuilding the service with fault points\n", s.seed, s.lasting)
	if err := build(ctx, cell{program: faulty}); err != nil {
		return err
	}
	total := newSoaked(s.seed)
	begin := time.Now()
	err := harness.On("soak", func(whole *harness.Site) error {
		g := newGround(whole)
		for turn := 0; time.Since(begin) < s.lasting && ctx.Err() == nil; turn++ {
			places := soakPlaces()
			p := places[(turn+int(s.seed%uint64(len(places))))%len(places)] // short soaks with other seeds see other places
			c := cell{experiment: experiment{name: "soak", points: true, links: true}, place: p, program: faulty}
			if !s.Only.MatchString(c.name()) {
				continue
			}
			left := s.lasting - time.Since(begin)
			err := harness.On(c.name(), func(own *harness.Site) error {
				return soakAt(ctx, own, g, c, seedOf(s.seed, c.name(), turn), left, total, out)
			})
			if err != nil {
				total.Broken = append(total.Broken, fmt.Sprintf("%s, turn %d: %v", c.name(), turn, err))
				harness.Say(out, "%s: %v\n", c.name(), err)
			}
		}
		return nil
	})
	total.Seconds = time.Since(begin).Round(time.Second).Seconds()
	return errors.Join(err, total.publish(s, out))
}

// soakAt is one turn: a world and some trials on it.
func soakAt(ctx context.Context, own *harness.Site, g *ground, c cell, seed uint64, left time.Duration, total *soaked, out io.Writer) error {
	w, err := newWorld(ctx, own, g, c.scene())
	if err != nil {
		return err
	}
	until := time.Now().Add(left)
	for n := 0; n < roundsEach && time.Now().Before(until) && ctx.Err() == nil; n++ {
		began := time.Now()
		t, err := newTrial(w, seedOf(seed, "round", n), fmt.Sprintf("r%d-", n), c.expected())
		if err != nil {
			return err
		}
		if err := total.round(t); err != nil {
			t.verdict.Say(history.Fault, "%v", err)
		}
		r := newResult(c, t.seed)
		r.report(t)
		r.take(t, c)
		if !r.Passed {
			r.keep(t)
		}
		total.add(&r, t.recoveries)
		notes := r.Notes
		r.Took, r.Notes = time.Since(began).Seconds(), nil
		harness.Say(out, "%-48s round %d: %s; %s\n", c.name(), n+1, r.line(total.Seed), strings.Join(notes, ", "))
		if !r.Passed {
			return nil // it is counted; what follows on this world could be its consequence
		}
	}
	return w.end()
}

// round is one trial: load, and faults one after another.
func (s *soaked) round(t *Trial) error {
	if err := t.makeSmall(); err != nil {
		return err
	}
	defer t.watchLag()()
	fitting := fittingTo(t.scene.place)
	l := t.startLoad(workersUsual)
	defer l.stop()
	for until := time.Now().Add(roundTime); time.Now().Before(until) && t.ctx.Err() == nil; {
		t.sleep(500, 3000)
		e := fitting[t.rng.IntN(len(fitting))]
		t.internal = t.internal || e.internal
		t.ended = time.Time{}
		err := e.make(t)
		if t.ended.IsZero() {
			t.ended = time.Now()
		}
		s.Faults[e.name]++
		t.note("%s", e.name)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		t.recover(t.ended)
	}
	l.stop()
	return t.judge()
}
