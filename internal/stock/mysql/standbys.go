package mysql

import (
	"context"
	"strconv"

	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/rulebook"
)

// readStandbys implements Standbys of the dialect. Its statements also work on nodes of a
// Galera cluster that are cut off.
func readStandbys(ctx context.Context, e *engine.Engine) (s engine.Standbys, err error) {
	v := engine.Vitals{}
	for _, question := range []string{
		`SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_size', 'Slaves_connected', 'Rpl_semi_sync_master_clients', 'Rpl_semi_sync_source_clients')`,
		`SHOW GLOBAL VARIABLES WHERE Variable_name IN ('rpl_semi_sync_master_enabled', 'rpl_semi_sync_source_enabled')`,
	} {
		if err := rulebook.ReadVitals(ctx, e, v, question); err != nil {
			return s, err
		}
	}
	return standbysOf(v), nil
}

// standbysOf returns the state of the replication. In a cluster all nodes confirm a
// commit, and the remaining nodes continue if others fail. So a cluster requires no
// standbys.
func standbysOf(v engine.Vitals) (s engine.Standbys) {
	count := func(name string) int {
		n, _ := strconv.Atoi(v[name]) // 0 if the server has no such variable
		return n
	}
	s.Connected = max(count("wsrep_cluster_size")-1, count("slaves_connected"), count("rpl_semi_sync_master_clients"), count("rpl_semi_sync_source_clients"), 0)
	if v.Has("rpl_semi_sync_master_enabled", "ON", "1") || v.Has("rpl_semi_sync_source_enabled", "ON", "1") {
		s.Required = 1
	}
	return s
}
