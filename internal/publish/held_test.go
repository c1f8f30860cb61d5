package publish

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/proof"
)

// roomy is a database whose lines share large blocks of memory, like lines of the store.
type roomy struct{ *rows }

func (r roomy) Pool(ctx context.Context, id string) (*Pool, error) {
	p, err := r.rows.Pool(ctx, id)
	p.Source = r
	return p, err
}

func (r roomy) Lines(ctx context.Context, from int64, limit int) (proof.Tail, error) {
	tail, err := r.rows.Lines(ctx, from, limit)
	part := make([]byte, 0, 64<<10)
	for i := range tail.Lines {
		begin := len(part)
		part = append(part, tail.Lines[i].Text...)
		tail.Lines[i].Text = part[begin:len(part):len(part)]
	}
	return tail, err
}

// TestPublisherHoldsLittlePerPool: between two passes a publisher holds only a few
// lines and hashes of a pool, however much it has published.
func TestPublisherHoldsLittlePerPool(t *testing.T) { //nolint:paralleltest // it measures the heap
	const most = 1 << 20
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for name, steps := range map[string][]int64{"little by little": make([]int64, 200), "at once": {60_000}} {
		dir := t.TempDir()
		r := roomy{newRows(dir + ".kept")}
		p := open(t, Options{Dir: dir, Live: true, Every: 1})
		before := heap()
		for _, n := range steps {
			r.head.Version += max(n, 1)
			r.head.Mark = r.head.Version
			require.NoError(t, p.Pass(t.Context(), r, false))
		}
		require.Less(t, heap()-before, int64(most), name)
		runtime.KeepAlive(p)
		runtime.KeepAlive(r)
	}
}
