package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/report"
)

// alike is the maximum relative difference at which two trees count as equally fast.
const alike = 0.05

// comparedMin is the minimum number of rounds. With fewer rounds, no interval contains
// the median with confidence, even if all rounds agree.
const comparedMin = 6

const confidence = 0.95

type compared struct {
	// Low and High are the confidence interval of the median ratio of this tree to the
	// other.
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Verdict verdict `json:"verdict"`
}

type verdict string

// The verdicts. All except the last hold at the level of confidence.
const (
	verdictAlike   verdict = "within 5 %"
	verdictFaster  verdict = "faster"
	verdictSlower  verdict = "slower"
	verdictBetter  verdict = "better"
	verdictWorse   verdict = "worse"
	verdictUnknown verdict = "undecided"
)

// comparisons returns an entry for each figure of the service: this tree's figure divided
// by the other tree's. Main rows also have entries for their tail and for the CPU time of
// a draw, which a busy machine disturbs less than the rate.
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
		if e.main && e.over.of.database != "sqlite" { // SQLite runs within the service
			add(of(e.over.of, databaseCPU))
		}
		add(e.under)
	}
	return rows
}

// swapped returns the order of a round. The trees change places in each round, because
// the second tree is slowed by disk writes that the first one left.
func swapped(pairs []candidate, round int) []candidate {
	order := slices.Clone(pairs)
	for i := 0; round%2 == 1 && i+1 < len(order); i += 2 {
		order[i], order[i+1] = order[i+1], order[i]
	}
	return order
}

// compare judges the ratios of the rounds. The interval consists of order statistics,
// so that it assumes nothing about the distribution of the machine's noise.
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

// outside returns how many of n sorted values can be left out at each end. The median
// must lie between the remaining values with confidence. It returns -1 if even all n are
// not enough. Each value is below the median with a probability of one half.
func outside(n int) int {
	tail, chance := 0.0, 1.0 // chance is the probability that k values are below the median, times 2^n; tail is the sum so far
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

// comparedTable returns the median of each figure, its interval and all rounds.
func (d document) comparedTable() *report.Table {
	t := report.NewTable("figure | this ÷ " + d.Against + " | 95 % sure | all rounds | this tree is")
	for _, e := range d.Entries {
		if e.Compared == nil {
			t.Add(e.Name, "–", "–", "–", "no figure")
			continue
		}
		t.Add(e.Name, e.median(), short(e.Compared.Low)+" to "+short(e.Compared.High), e.span(), e.Compared.Verdict)
	}
	return t
}

// otherTree is another commit of this repository, which is measured alternately with
// the working directory.
type otherTree struct {
	// commit is the short hash of the commit.
	commit string
	// folder contains the tree's files, bin its programs.
	folder, bin string
}

// checkOut checks a commit out into a separate folder, which the site removes. The
// repository's own files, index and branches do not change.
func checkOut(ctx context.Context, s *harness.Site, commit string) (*otherTree, error) {
	short, err := git(ctx, "rev-parse", "--short", "--verify", "--quiet", "--end-of-options", commit+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("against %s: this repository has no such commit%s", commit, because(short))
	}
	whole, err := os.MkdirTemp("", "drawsvc-against-")
	if err != nil {
		return nil, err
	}
	t := &otherTree{commit: short, folder: filepath.Join(whole, "tree"), bin: filepath.Join(whole, "bin")}
	s.Cleanup(func() {
		// An interrupted run cleans up, too.
		_, _ = git(context.WithoutCancel(ctx), "worktree", "remove", "--force", t.folder)
		_ = os.RemoveAll(whole)
	})
	if text, err := git(ctx, "worktree", "add", "--quiet", "--detach", t.folder, short); err != nil {
		return nil, fmt.Errorf("against %s: git worktree add: %w%s", commit, err, because(text))
	}
	return t, nil
}

// because formats a program's output as the reason in an error, "" if there is no output.
func because(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

func git(ctx context.Context, args ...string) (string, error) {
	output, err := exec.CommandContext(ctx, "git", args...).CombinedOutput()
	return strings.TrimSpace(string(output)), err
}

// build builds the other tree's service and, if needed, its benchmark of the engine.
// Everything else that measures comes from this tree.
func (t *otherTree) build(ctx context.Context, withEngine bool) error {
	err := harness.Go(ctx, t.folder, "build", "-trimpath", "-o", t.bin+"/", "./cmd/drawsvc")
	if err == nil && withEngine {
		err = buildEngine(ctx, t.folder, t.bin)
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return fmt.Errorf("against %s: it does not build: %w", t.commit, err)
	}
	return nil
}
