package main

import (
	"fmt"
	"math"
	"slices"
)

// alike is how far two trees may differ and still count as equally fast.
const alike = 0.05

// comparedMin is the fewest rounds that tell anything: the interval of fewer
// holds the median with less than confidence, however well they agree.
const comparedMin = 6

const confidence = 0.95

type compared struct {
	// Low and High hold the median of this ÷ other with confidence.
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Verdict verdict `json:"verdict"`
}

type verdict string

// The verdicts. Each but the last is certain, as far as confidence goes.
const (
	verdictAlike   verdict = "within 5 %"
	verdictFaster  verdict = "faster"
	verdictSlower  verdict = "slower"
	verdictBetter  verdict = "better"
	verdictWorse   verdict = "worse"
	verdictUnknown verdict = "undecided"
)

// comparisons are the figures of the service in the entries, of this tree over
// the same of the other. Rows of what callers see show their tails as well, and
// the CPU of a draw, which a busy machine disturbs less than the rate.
func comparisons(list []entry, tree string) []entry {
	var rows []entry
	seen := make(map[figure]bool)
	add := func(f figure) {
		if f.of.program != service || seen[f] {
			return
		}
		seen[f] = true
		rows = append(rows, entry{name: f.name(), over: f, under: of(f.of.from(tree), f.metric)})
	}
	for _, e := range list {
		add(e.over)
		if e.main {
			add(of(e.over.of, p99))
			add(of(e.over.of, serviceCPU))
		}
		if e.main && e.over.of.database != "sqlite" { // which is within the service
			add(of(e.over.of, databaseCPU))
		}
		add(e.under)
	}
	return rows
}

// swapped is the order of a round: the trees change places, because the second
// of two meets what the first has left to the disk.
func swapped(pairs []candidate, round int) []candidate {
	order := slices.Clone(pairs)
	for i := 0; round%2 == 1 && i+1 < len(order); i += 2 {
		order[i], order[i+1] = order[i+1], order[i]
	}
	return order
}

// compare judges the ratios of the rounds. The interval is of order statistics,
// so that it assumes nothing of how the machine's noise is distributed.
func compare(rounds []float64, m metric) compared {
	sorted := slices.Sorted(slices.Values(rounds))
	left := outside(len(sorted))
	if left < 0 {
		return compared{Verdict: verdictUnknown}
	}
	c := compared{Low: sorted[left], High: sorted[len(sorted)-1-left], Verdict: verdictUnknown}
	more, less := c.Low > 1, c.High < 1
	if m.lessIsBetter() {
		more, less = less, more
	}
	switch {
	case c.Low >= 1-alike && c.High <= 1+alike:
		c.Verdict = verdictAlike
	case more:
		c.Verdict = m.word(verdictFaster, verdictBetter)
	case less:
		c.Verdict = m.word(verdictSlower, verdictWorse)
	}
	return c
}

// outside is how many of n sorted values can be left out at each end, so that
// those left hold the median with confidence; -1 where all n do not. Each value
// is below the median with a chance of one half.
func outside(n int) int {
	tail, chance := 0.0, 1.0 // that no value is below the median, times 2^n
	whole := math.Ldexp(1, n)
	left := -1
	for k := range n/2 + 1 {
		tail += chance
		if 2*tail/whole > 1-confidence {
			return left
		}
		left = k
		chance = chance * float64(n-k) / float64(k+1)
	}
	return left
}

func (m metric) word(speed, other verdict) verdict {
	if m.isSpeed() {
		return speed
	}
	return other
}

func (d document) slower() []string {
	var names []string
	for _, e := range d.Entries {
		if e.Compared != nil && (e.Compared.Verdict == verdictSlower || e.Compared.Verdict == verdictWorse) {
			names = append(names, fmt.Sprintf("%s: %s", e.Name, e.median()))
		}
	}
	return names
}

// comparedRow is a line of the table: the median, its interval, all rounds.
func (j judged) comparedRow() []string {
	if j.Compared == nil {
		return []string{j.Name, "–", "–", "–", "no figure"}
	}
	interval := short(j.Compared.Low) + " to " + short(j.Compared.High)
	return []string{j.Name, j.median(), interval, j.span(), string(j.Compared.Verdict)}
}

func comparedTitles(tree string) []string {
	return []string{"figure", "this ÷ " + tree, "95 % sure", "all rounds", "this tree is"}
}

func (d document) comparedRows() (rows [][]string) {
	for _, e := range d.Entries {
		rows = append(rows, e.comparedRow())
	}
	return rows
}
