package ledger

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drawsvc/internal/draw"
)

// listed returns a log in memory whose reads are counted.
func listed(versions []int64, after int64, reads *int) *pagedLog {
	var page []int64
	return &pagedLog{
		after: after, most: PageMax,
		page: func(after int64) (int, error) {
			*reads++
			from, _ := slices.BinarySearch(versions, after+1)
			page = versions[from:min(len(versions), from+PageMax)]
			return len(page), nil
		},
		row: func(i int) draw.Entry { return draw.Entry{Move: &draw.Move{Version: page[i]}} },
	}
}

// TestMergeOrdersByVersion: every entry comes once, in the order of versions, however the
// entries are distributed over logs and pages.
func TestMergeOrdersByVersion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := make([][]int64, rapid.IntRange(1, 3).Draw(t, "logs"))
		after := rapid.Int64Range(0, 100).Draw(t, "after")
		var want []int64
		for v := int64(1); v <= 3*PageMax; {
			of := rapid.IntRange(0, len(logs)-1).Draw(t, "log")
			for range rapid.IntRange(1, 2*PageMax).Draw(t, "entries") {
				logs[of] = append(logs[of], v)
				if v > after {
					want = append(want, v)
				}
				v++
			}
		}
		for i := range logs { // some versions are in every log
			for _, v := range []int64{7, PageMax} {
				if at, found := slices.BinarySearch(logs[i], v); !found {
					logs[i] = slices.Insert(logs[i], at, v)
					if v > after {
						want = append(want, v)
					}
				}
			}
		}
		slices.Sort(want)
		var reads int
		var merging []*pagedLog
		for _, versions := range logs {
			merging = append(merging, listed(versions, after, &reads))
		}
		var found []int64
		for e, err := range merge(merging) {
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, e.Version())
		}
		if !slices.Equal(want, found) {
			t.Fatalf("%d entries of %d, or not in order", len(found), len(want))
		}
	})
}

// TestMergeReadsNoFurtherPage: after a caller stops, or after an error, no further page
// is read.
func TestMergeReadsNoFurtherPage(t *testing.T) {
	versions := make([]int64, 3*PageMax)
	for i := range versions {
		versions[i] = int64(i + 1)
	}
	var reads int
	for e, err := range merge([]*pagedLog{listed(versions, 0, &reads)}) {
		require.NoError(t, err)
		if e.Version() == 10 {
			break
		}
	}
	require.Equal(t, 1, reads)

	failed := errors.New("no answer")
	broken := &pagedLog{page: func(int64) (int, error) { return 0, failed }}
	reads = 0
	var errs []error
	for _, err := range merge([]*pagedLog{listed(versions, 0, &reads), broken}) {
		errs = append(errs, err)
	}
	require.Equal(t, []error{failed}, errs)
	require.Equal(t, 1, reads)
}
