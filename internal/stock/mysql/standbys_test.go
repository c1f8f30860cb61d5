package mysql

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/engine"
)

func TestStandbysOf(t *testing.T) {
	t.Parallel()
	require.Equal(t, engine.Standbys{}, standbysOf(engine.Vitals{}))
	require.Equal(t, engine.Standbys{}, standbysOf(engine.Vitals{"wsrep_cluster_size": "0", "slaves_connected": "0", "rpl_semi_sync_master_enabled": "OFF"}))
	require.Equal(t, engine.Standbys{Connected: 2}, standbysOf(engine.Vitals{"wsrep_cluster_size": "3"}))
	require.Equal(t, engine.Standbys{Connected: 1}, standbysOf(engine.Vitals{"slaves_connected": "1", "wsrep_cluster_size": "0"}))
	require.Equal(t, engine.Standbys{Connected: 2, Required: 1}, standbysOf(engine.Vitals{"rpl_semi_sync_source_clients": "2", "rpl_semi_sync_source_enabled": "ON"}))
}
