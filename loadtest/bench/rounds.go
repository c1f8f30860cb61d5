package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"drawsvc/loadtest/site"
)

// benchmark is a run under way.
type benchmark struct {
	settings
	out     io.Writer
	whole   *site.Site
	servers map[string]*server
	filled  map[string]*place
	seed    int64

	candidates []candidate
	figures    map[candidate][]figures // by round
	faults     map[candidate]error
}

// measureAll builds, measures every candidate in every round and judges the
// entries. In quick mode, entries that have fallen behind those published are
// measured for as many rounds again: one bad moment of the machine is no fall.
func measureAll(ctx context.Context, s settings, out io.Writer, published document) (document, error) {
	list := chosen(s)
	if len(list) == 0 {
		return document{}, errors.New("no entry has such a name: bench list shows them")
	}
	flush, err := flushTime()
	if err != nil {
		return document{}, err
	}
	candidates := candidatesOf(list)
	fmt.Fprintln(out, "building (the first time takes minutes)")
	if err := build(ctx, slices.ContainsFunc(candidates, func(c candidate) bool { return c.engine })); err != nil {
		return document{}, err
	}
	b := &benchmark{
		settings: s, out: out, servers: make(map[string]*server), filled: make(map[string]*place), seed: time.Now().UnixMilli(),
		candidates: candidates, figures: make(map[candidate][]figures), faults: make(map[candidate]error),
	}
	var d document
	err = site.On("bench", func(whole *site.Site) error {
		b.whole = whole
		if err := b.inTurn(ctx, candidates); err != nil {
			return err
		}
		d = newDocument(b, list, flush)
		if fallen := d.fallen(published); s.quick && len(fallen) > 0 {
			fmt.Fprintln(out, "fallen behind, measured again:", fallen)
			again := slices.DeleteFunc(slices.Clone(list), func(e entry) bool { return !slices.Contains(fallen, e.name) })
			if err := b.inTurn(ctx, candidatesOf(again)); err != nil {
				return err
			}
			d = newDocument(b, list, flush)
		}
		return nil
	})
	return d, err
}

// inTurn measures the candidates, round after round. One that fails is left out from then
// on, and named in the end.
func (b *benchmark) inTurn(ctx context.Context, candidates []candidate) error {
	for round := range b.rounds {
		for i, c := range candidates {
			if b.faults[c] != nil {
				continue
			}
			fmt.Fprintf(b.out, "round %d/%d [%2d/%2d] %-56s ", round+1, b.rounds, i+1, len(candidates), c.name())
			f, err := b.measure(ctx, c, round == 0 && !b.quick && len(b.figures[c]) == 0)
			if ctx.Err() != nil {
				return errors.New("interrupted")
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

// line is shown when a measurement is done.
func (f figures) line() string {
	if cores, ok := f[idleCPU]; ok {
		return fmt.Sprintf("%.4f cores, %.3f goroutines per pool", cores, f[goroutines])
	}
	line := fmt.Sprintf("%.0f/s", f[perSecond])
	if f[serviceCPU] > 0 {
		line += fmt.Sprintf(", CPU %.1f µs (database %.1f, wrk %.1f), p50 %.0f µs, p99 %.0f µs, %.0f MB",
			f[serviceCPU], f[databaseCPU], f[clientCPU], f[p50], f[p99], f[memory])
	}
	if f[batchDraws] > 0 {
		line += fmt.Sprintf(", %.0f per batch", f[batchDraws])
	}
	if f[disturbance] > disturbanceMax {
		line += fmt.Sprintf(", DISTURBED: others used %.2f cores", f[disturbance])
	}
	return line
}
