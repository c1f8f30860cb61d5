package proof

import (
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"os/exec"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest"
)

// TestHashesAreASet: the set contains exactly the hashes that were added, whatever their
// values and their number are.
func TestHashesAreASet(t *testing.T) {
	for _, span := range []uint64{50, 5000, 1 << 40} {
		var s hashes
		want := map[uint64]bool{}
		for range 20_000 {
			h := rand.Uint64N(span) * (math.MaxUint64 / span) //nolint:gosec // any will do
			require.Equal(t, want[max(h, 1)], s.add(h), "%d", h)
			want[max(h, 1)] = true
		}
		n := 0
		for i := range s {
			n += s[i].used
		}
		require.Len(t, want, n)
	}
}

// TestHashesAreSmall: many hashes take at most 24 bytes each, even while the set grows.
func TestHashesAreSmall(t *testing.T) {
	var s hashes
	for i := range uint64(200_000) {
		s.add(i * 0x9e3779b97f4a7c15)
		if i < 20_000 || i%1000 != 0 { // a part begins with sixteen slots
			continue
		}
		var slots uint64
		for p := range s {
			slots += uint64(len(s[p].slots))
		}
		require.LessOrEqual(t, 8*slots, 24*i, "%d hashes", i)
	}
}

// TestNamesAreExact: different names with equal hashes are accepted, and a repeated name
// is still found.
func TestNamesAreExact(t *testing.T) {
	w := newWorld(t)
	w.prize("silver", 900, "5.00")
	w.commit(4, 1000)
	w.state(draw.StateOpen)
	for i := range 40 {
		w.draw(fmt.Sprintf("d%d", i), "u", 1+i%3)
	}
	honest := w.publishAll()
	again := w.files(edited(t, honest["log.jsonl"].Data, func(all []*Line) []*Line {
		at := awardsOf(all)
		for _, i := range at {
			own := *all[i]
			all[i] = &own
		}
		all[at[len(at)-1]].Draw = all[at[0]].Draw
		all[at[len(at)-1]].Count, all[at[len(at)-1]].Ordinal = 1, 1
		return all
	}), nil)
	for name, hash := range map[string]func(maphash.Seed, string) uint64{
		"good": maphash.String,
		"poor": func(_ maphash.Seed, s string) uint64 { return uint64(s[0] & 3) },
		"none": func(maphash.Seed, string) uint64 { return 0 },
	} {
		for files, want := range map[*fstest.MapFS]string{&honest: "", &again: RuleDraw} {
			v := &verifier{files: *files, folding: folding{drawn: &names{seed: maphash.MakeSeed(), hash: hash}}}
			found := ""
			if f, ok := v.run().(*finding); ok { //nolint:errorlint // it is not wrapped
				found = f.rule
			}
			require.Equal(t, want, found, name)
		}
	}
	for _, key := range []string{"hash", "lambda name: ord(name[0]) & 3", "lambda name: 0"} {
		require.Equal(t, "", secondFinds(t, honest, key), key)
		require.Equal(t, RuleDraw, secondFinds(t, again, key), key)
	}
}

// secondFinds returns the rule that the second verifier reports as broken if it hashes
// names with the given key.
func secondFinds(t *testing.T, files fstest.MapFS, key string) string {
	t.Helper()
	servertest.NeedPrograms(t, "python3", "python3")
	script := fmt.Sprintf(`
import sys
sys.path.insert(0, "../../docs/verify")
sys.dont_write_bytecode = True
import verify
v = verify.Verifier(%q)
v.draws = verify.Names(%s)
try:
    v.run()
except verify.Finding as e:
    print(e.rule, end="")
`, folderOf(t, files), key)
	out, err := exec.CommandContext(t.Context(), "python3", "-c", script).CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}
