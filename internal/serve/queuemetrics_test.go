package serve

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

// TestQueuesByPoolAreBounded: the longest queues have their own series, the others
// share one, and without waiting draws there is only the shared series.
func TestQueuesByPoolAreBounded(t *testing.T) {
	t.Parallel()
	waiting, unread := map[string]int{}, 0
	m := newQueueMetrics(func() (map[string]int, int) { return waiting, unread })
	shown := func() map[string]float64 {
		registry := prometheus.NewRegistry()
		registry.MustRegister(m)
		families, err := registry.Gather()
		require.NoError(t, err)
		require.Len(t, families, 1)
		found := map[string]float64{}
		for _, s := range families[0].GetMetric() {
			found[s.GetLabel()[0].GetValue()] = s.GetGauge().GetValue()
		}
		return found
	}
	require.Equal(t, map[string]float64{otherPools: 0}, shown())
	for i := range watchedPoolsMax + 50 {
		waiting[fmt.Sprint("p", i)] = 1 + i
	}
	waiting[otherPools], unread = 1000, 7
	found := shown()
	require.Len(t, found, watchedPoolsMax+1)
	require.InDelta(t, watchedPoolsMax+50, found[fmt.Sprint("p", watchedPoolsMax+49)], 0)
	require.NotContains(t, found, "p49")
	require.InDelta(t, 1000+7+50*51/2, found[otherPools], 0)
	require.Equal(t, watchedPoolsMax+1, testutil.CollectAndCount(m))
}
