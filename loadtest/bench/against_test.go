package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/harness"
)

// TestOutside: outside returns the known order statistics of the 95 % interval of a
// median.
func TestOutside(t *testing.T) {
	for n, want := range map[int]int{0: -1, 1: -1, 5: -1, comparedMin: 0, 8: 0, 9: 1, 12: 2, 15: 3, 20: 5, 100: 39, 1000: 468} {
		assert.Equal(t, want, outside(n), "%d rounds", n)
	}
}

// around returns twelve ratios that are scattered around a middle.
func around(middle, noise float64) (ratios []float64) {
	for n := range 12 {
		ratios = append(ratios, middle*(1+noise*(float64(n)-5.5)/5.5))
	}
	return ratios
}

// TestCompare: each verdict is given when it applies, and none of them on a machine that
// is too noisy. For some figures lower is better, for others higher.
func TestCompare(t *testing.T) {
	for _, test := range []struct {
		middle, noise float64
		m             metric
		want          verdict
	}{
		{1, 0.05, perSecond, verdictAlike},
		{1.02, 0.02, perSecond, verdictAlike},
		{1, 0.3, perSecond, verdictUnknown},
		{1.2, 0.1, perSecond, verdictFaster},
		{1.2, 0.5, perSecond, verdictUnknown},
		{0.8, 0.1, perSecond, verdictSlower},
		{0.9, 0.3, perSecond, verdictUnknown},
		{0.8, 0.1, p99, verdictFaster},
		{1.2, 0.1, p99, verdictSlower},
		{0.8, 0.1, serviceCPU, verdictBetter},
		{1.2, 0.1, memory, verdictWorse},
		{1.2, 0.1, batchDraws, verdictBetter},
	} {
		ratios := around(test.middle, test.noise)
		c := compare(ratios, test.m)
		assert.Equal(t, test.want, c.Verdict, "%+v", test)
		slices.Sort(ratios)
		assert.Equal(t, []float64{ratios[2], ratios[9]}, []float64{c.Low, c.High}, "two of twelve are left out at each end")
	}
	assert.Equal(t, verdictUnknown, compare([]float64{9, 9, 9, 9, 9}, perSecond).Verdict, "five rounds tell nothing")
}

// comparedRun returns a run against another tree: this tree's rate is the given multiple
// of the other's.
func comparedRun(t *testing.T, times float64) document {
	s, err := parse([]string{"--quick", "--against", "abc"}, func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	b := &benchmark{settings: s, other: &otherTree{commit: "abc"}, figures: make(map[candidate][]figures), faults: make(map[candidate]error)}
	list := comparisons(chosen(s), "abc")
	b.candidates = candidatesOf(list)
	for _, c := range b.candidates {
		for _, noise := range around(1, 0.02) {
			f := figures{perSecond: 1000 * noise, unitRate: 1000 * noise, serviceCPU: 20, p99: 3000}
			if c.tree == "" {
				f[perSecond] *= times
			}
			b.figures[c] = append(b.figures[c], f)
		}
	}
	return newDocument(b, list, disk{})
}

// TestComparedRun: a slower tree fails the run, and is named.
func TestComparedRun(t *testing.T) {
	require.NoError(t, comparedRun(t, 1).verdict(document{}))
	require.NoError(t, comparedRun(t, 1.3).verdict(document{}))
	slow := comparedRun(t, 0.9)
	err := slow.verdict(document{})
	require.ErrorContains(t, err, "slower or worse than abc:")
	require.ErrorContains(t, err, "PostgreSQL for-update, time-ordered keys, 2 million awards, default memory: draws_per_second: 0.90")
	assert.NotContains(t, err.Error(), "p99")
	assert.Contains(t, slow.markdown(), "| PostgreSQL for-update: draws_per_second | 0.90 | 0.90 to 0.90 | 0.90 to 0.90 | slower |")
	assert.Contains(t, slow.markdown(), "| PostgreSQL for-update: service_cpu_us_per_draw | 1.00 | 1.00 to 1.00 | 1.00 to 1.00 | within 5 % |")
}

// TestComparisons: only the service's figures are compared, each once. Main rows also
// compare their tails.
func TestComparisons(t *testing.T) {
	rows := comparisons(chosen(quickSettings(t)), "abc")
	var names []string
	for _, e := range rows {
		assert.Equal(t, service, e.over.of.program)
		assert.Equal(t, e.over.of.from("abc"), e.under.of)
		assert.NotContains(t, names, e.name)
		names = append(names, e.name)
	}
	assert.Contains(t, names, "PostgreSQL for-update, time-ordered keys, 2 million awards, default memory: p99_us")

	pairs := candidatesOf(rows)
	for i := 0; i < len(pairs); i += 2 {
		assert.Equal(t, pairs[i+1].from("abc"), pairs[i], "a tree beside the other")
	}
	assert.Equal(t, pairs, swapped(pairs, 0))
	odd := swapped(pairs, 1)
	assert.Equal(t, []candidate{pairs[1], pairs[0], pairs[3], pairs[2]}, odd[:4])
}

// TestCheckOut creates a repository with a commit that builds and one that does not. It
// checks that a checkout does not change the repository.
func TestCheckOut(t *testing.T) {
	t.Chdir(t.TempDir())
	git := func(args ...string) string {
		args = append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)
		output, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput()
		require.NoError(t, err, "%s", output)
		return string(output)
	}
	write := func(file, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		git("add", "--all")
		git("commit", "--quiet", "--message", file)
	}
	git("init", "--quiet")
	write("go.mod", "module drawsvc\n\ngo 1.26\n")
	write("cmd/drawsvc/main.go", "package main\n\nfunc main() {}\n")
	write("cmd/drawsvc/broken.go", "package main\n\nfunc broken() { no }\n")
	before := git("worktree", "list")

	require.NoError(t, harness.On("good", func(s *harness.Site) error {
		tree, err := checkOut(t.Context(), s, "HEAD~1")
		require.NoError(t, err)
		require.NoError(t, tree.build(t.Context(), false))
		require.FileExists(t, filepath.Join(tree.bin, service))
		return nil
	}))
	require.ErrorContains(t, harness.On("broken", func(s *harness.Site) error {
		tree, err := checkOut(t.Context(), s, "HEAD")
		require.NoError(t, err)
		return tree.build(t.Context(), false)
	}), "it does not build: go build")
	for _, unknown := range []string{"v9.9", "--help", "-v", ""} {
		require.EqualError(t, harness.On("unknown", func(s *harness.Site) error {
			_, err := checkOut(t.Context(), s, unknown)
			return err
		}), "against "+unknown+": this repository has no such commit")
	}
	require.Equal(t, before, git("worktree", "list"))
}
