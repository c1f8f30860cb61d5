package proof

import (
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest"
)

// small returns a pool with few entries, but of every kind that a simple pool has.
func small(t *testing.T) fstest.MapFS {
	w := newWorld(t)
	w.prize("silver", 9, "5.00")
	w.prize("none", -1, "0.00")
	w.rules(`{"win":"1/2","fallback":"none","limits":[{"of":"draws","max":30,"per":"day"}]}`)
	w.commit(4, 5)
	w.state(draw.StateOpen)
	for i := range 6 {
		w.draw(fmt.Sprintf("d%d", i), "u", 1)
	}
	w.check()
	return w.publishAll()
}

// every is set by make proofs. The tests then take minutes with the race detector.
var every = flag.Bool("every", false, "every bit of a small pool, every attack at a hundred places, a hundred thousand pools to predict")

// few returns the number of cases to run: all if the flag every is set, as by make
// proofs, and otherwise enough, which suffices for every change of the code.
func few(enough, all int) int {
	if *every {
		return all
	}
	return enough
}

// TestEveryBitCounts: any flipped bit in any file is found. Without the flag every, only
// one bit of each byte is tested.
func TestEveryBitCounts(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	files := small(t)
	require.True(t, verified(t, files, VerifyOptions{}).OK)
	var all sync.WaitGroup
	for name, f := range files {
		all.Go(func() {
			flipped := clone(files)
			for bit := 0; bit < 8*len(f.Data); bit += few(7, 1) {
				flipped[name].Data[bit/8] ^= 1 << (bit % 8)
				r, err := Verify(flipped, VerifyOptions{})
				if err != nil || r.OK {
					t.Errorf("%s, bit %d of byte %d: %v", name, bit%8, bit/8, err)
				}
				flipped[name].Data[bit/8] ^= 1 << (bit % 8)
			}
		})
	}
	all.Wait()
}

// TestEveryByteCountsInPython: the second verifier finds a flipped bit in any byte. It
// checks each signature once.
func TestEveryByteCountsInPython(t *testing.T) {
	t.Parallel()
	servertest.NeedPrograms(t, "python3", "python3")
	script := fmt.Sprintf(`
import functools, io, os, sys
sys.path.insert(0, "../../docs/verify")
sys.dont_write_bytecode = True
import verify
verify.ed25519 = functools.lru_cache(None)(verify.ed25519)

class InMemory(verify.Verifier):
    def read(self, name):
        return files[name]
    def opened(self, name):
        return io.BytesIO(files[name])
    def lines(self):
        return self.opened("log.jsonl")

def finds():
    try:
        InMemory(folder).run()
        return False
    except verify.Finding:
        return True

folder, flipped = %q, 0
honest = {name: open(os.path.join(folder, name), "rb").read() for name in os.listdir(folder)}
files = honest
assert not finds(), "the files hold"
for name, content in honest.items():
    for i in range(len(content)):
        changed = bytearray(content)
        changed[i] ^= 1 << (i %% 8)
        files = dict(honest, **{name: bytes(changed)})
        flipped += 1
        if not finds():
            print(f"{name}, byte {i}")
print(flipped, end="")
`, folderOf(t, small(t)))
	out, err := exec.CommandContext(t.Context(), "python3", "-c", script).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Regexp(t, `^[0-9]{4}$`, strings.TrimSpace(string(out)), "how many were flipped, and nothing else")
}
