package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"drawsvc/internal/seal"
	"drawsvc/loadtest/harness"
)

type benchmark struct {
	settings
	out     io.Writer
	whole   *harness.Site
	other   *otherTree // nil if no other tree is measured
	servers map[serverID]*server
	filled  map[candidate]*spot
	seed    int64
	// seedFlags are the flags of services whose pools are committed. sealFlags are the
	// flags of services that seal codes, with sealKey. Both are nil until the first use.
	seedFlags, sealFlags []string
	sealKey              *seal.Key

	candidates []candidate
	figures    map[candidate][]figures // the figures of each round
	faults     map[candidate]error
}

var errInterrupted = errors.New("interrupted")

// againMax is the maximum number of times that fallen entries are measured again. Each
// repetition makes a false alarm less likely.
const againMax = 3

// measureAll builds, measures every candidate in every round and judges the entries. In
// quick mode it repeats all rounds of the entries that have fallen, up to againMax times,
// because a slow moment of the machine does not count.
func measureAll(ctx context.Context, s settings, out io.Writer, published document) (d document, err error) {
	list := chosen(s)
	if len(list) == 0 {
		return d, errors.New("no entry has such a name: bench list shows them")
	}
	under, err := readDisk()
	if err != nil {
		return d, err
	}
	b := &benchmark{
		settings: s, out: out, servers: make(map[serverID]*server), filled: make(map[candidate]*spot), seed: time.Now().UnixMilli(),
		figures: make(map[candidate][]figures), faults: make(map[candidate]error),
	}
	err = harness.On("bench", func(whole *harness.Site) error {
		b.whole = whole
		if commit := cmp.Or(s.against, s.before); commit != "" {
			if b.other, err = checkOut(ctx, whole, commit); err != nil {
				return err
			}
		}
		if s.against != "" {
			list = comparisons(list, b.other.commit)
		}
		b.candidates = candidatesOf(list)
		closed := bestOf(b.candidates)
		if err := b.build(ctx); err != nil {
			return err
		}
		for _, turn := range [][]candidate{closed, b.candidates} {
			if err := b.inTurn(ctx, turn); err != nil {
				return err
			}
		}
		b.candidates = append(closed, b.candidates...)
		d = newDocument(b, list, under)
		for range againMax {
			fallen := d.fallen(published)
			if !s.guards() || len(fallen) == 0 {
				break
			}
			fmt.Fprintln(out, "fallen behind, measured again:", fallen)
			again := slices.DeleteFunc(slices.Clone(list), func(e entry) bool { return !slices.Contains(fallen, e.name) })
			if err := b.inTurn(ctx, candidatesOf(again)); err != nil {
				return err
			}
			d = newDocument(b, list, under)
		}
		return nil
	})
	return d, err
}

// build builds what the candidates need, of each tree.
func (b *benchmark) build(ctx context.Context) error {
	fmt.Fprintln(b.out, "building (the first time takes minutes)")
	withEngine := slices.ContainsFunc(b.candidates, func(c candidate) bool { return c.engine })
	if err := build(ctx, withEngine, b.latency); err != nil || b.other == nil {
		return err
	}
	return b.other.build(ctx, withEngine)
}

// inTurn measures the candidates, round after round. A candidate that fails is left out
// from then on, and named at the end.
func (b *benchmark) inTurn(ctx context.Context, candidates []candidate) error {
	if len(candidates) == 0 {
		return nil
	}
	b.announce(candidates)
	for round := range b.rounds {
		order := candidates
		if b.against != "" {
			order = swapped(candidates, round)
		}
		for i, c := range order {
			if b.faults[c] != nil {
				continue
			}
			fmt.Fprintf(b.out, "round %d/%d [%2d/%2d] %-62s ", round+1, b.rounds, i+1, len(order), c.name())
			f, err := b.measure(ctx, c, round == 0 && b.countsTrips() && len(b.figures[c]) == 0)
			if ctx.Err() != nil {
				return errInterrupted
			}
			if err != nil {
				fmt.Fprintln(b.out, "FAILED:", err)
				b.faults[c] = err
				continue
			}
			fmt.Fprintln(b.out, f.line())
			b.figures[c] = append(b.figures[c], f)
		}
	}
	return nil
}

const overheadUsual = time.Second

func (b *benchmark) announce(candidates []candidate) {
	count := b.rounds * len(candidates)
	each := time.Duration(b.warmUp+b.seconds)*time.Second + overheadUsual
	fmt.Fprintf(b.out, "%d measurements, about %v on a quiet machine, and what it takes to fill large logs\n",
		count, (time.Duration(count) * each).Round(time.Minute))
}

func (f figures) line() string {
	if cores, ok := f[idleCPU]; ok {
		return fmt.Sprintf("%.4f cores, %.3f goroutines per pool", cores, f[goroutines])
	}
	if seconds, ok := f[took]; ok {
		line := fmt.Sprintf("%.2f s", seconds)
		if f[memory] > 0 {
			line += fmt.Sprintf(", %.0f MB", f[memory])
		}
		return line
	}
	line := fmt.Sprintf("%.0f/s", f[perSecond])
	if f[serviceCPU] > 0 {
		line += fmt.Sprintf(", CPU %.1f µs (database %.1f, client %.1f), p50 %.0f µs, p99 %.0f µs, %.0f MB",
			f[serviceCPU], f[databaseCPU], f[clientCPU], f[p50], f[p99], f[memory])
	}
	if f[batchDraws] > 0 {
		line += fmt.Sprintf(", %.0f per batch", f[batchDraws])
	}
	if f[dropped] > 0 {
		line += fmt.Sprintf(", %.0f DROPPED", f[dropped])
	}
	if f[besideRate] > 0 {
		line += fmt.Sprintf(", beside them %.0f/s", f[besideRate])
	}
	if f[disturbance] > disturbanceMax {
		line += fmt.Sprintf(", DISTURBED: others used %.2f cores", f[disturbance])
	}
	return line
}
