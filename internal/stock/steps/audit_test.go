package steps

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/ledger"
)

// TestAuditReadsStepsInPages: the steps of each award are read once and together,
// wherever a page ends, and no page is read again.
func TestAuditReadsStepsInPages(t *testing.T) {
	t.Parallel()
	for _, each := range []int{1, 3, 7, ledger.PageMax, ledger.PageMax + 1} {
		all := make([]stepRow, 3*ledger.PageMax)
		for i := range all {
			all[i] = stepRow{n: int64(i + 1), award: int64(i/each + 10), seq: int64(i%each + 1)}
		}
		reads := 0
		a := &audit{steps: stepPages{read: func(page []stepRow, after, seq int64) ([]stepRow, error) {
			reads++
			first := slices.IndexFunc(all, func(s stepRow) bool { return s.award > after || s.award == after && s.seq > seq })
			if first < 0 {
				return page, nil
			}
			return append(page, all[first:min(first+ledger.PageMax, len(all))]...), nil
		}}}
		var taken []stepRow
		for award := int64(10); ; award++ {
			own, err := a.stepsOf(award)
			require.NoError(t, err)
			if len(own) == 0 {
				break
			}
			require.LessOrEqual(t, len(own), each)
			taken = append(taken, own...)
		}
		require.Equal(t, all, taken)
		require.Equal(t, 4, reads, "three pages, and the end")
		require.Equal(t, []int64{3 * ledger.PageMax, 1, 3 * ledger.PageMax}, []int64{a.count, a.first, a.last})
	}
}
