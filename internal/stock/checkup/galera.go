package checkup

import (
	"fmt"
	"strings"
)

// clustered is broken only on a node of a Galera cluster.
func clustered(broken func(v vitals, o Options) string) func(vitals, Options) string {
	return func(v vitals, o Options) string {
		if !v.has("wsrep_on", "ON", "1") {
			return ""
		}
		return broken(v, o)
	}
}

// mysqlCluster are the rules of Galera.
func mysqlCluster() []rule {
	return []rule{
		{
			"galera-quorum", LevelDanger,
			clustered(func(v vitals, _ Options) string {
				for _, option := range []string{"pc.ignore_sb", "pc.ignore_quorum"} {
					for setting := range strings.SplitSeq(v["wsrep_provider_options"], ";") {
						name, value, _ := strings.Cut(setting, "=")
						if strings.TrimSpace(name) == option && strings.TrimSpace(value) == "true" {
							return option + " = true"
						}
					}
				}
				return ""
			}),
			"the halves of a cluster that was cut in two both go on: each issues what the other issues, and one of them is thrown away when they meet",
			"set it to false in wsrep_provider_options; two nodes need an arbitrator (garbd)",
		},
		{
			"galera-not-primary", LevelDanger,
			clustered(notSetTo("wsrep_cluster_status", "Primary")),
			"the node is cut off from its cluster: nothing can be drawn here, and what is read here may be old",
			"bring its cluster together, or name another node in --database",
		},
		{
			"galera-not-synced", LevelWarning,
			clustered(notSetTo("wsrep_local_state_comment", "Synced")),
			"the node lags behind its cluster, or serves another as donor: draws are slow here and conflict more often",
			"wait until it is Synced, or name another node first in --database",
		},
		{
			"galera-writers", LevelWarning,
			clustered(func(v vitals, _ Options) string {
				if v.has("wsrep_cluster_size", "", "0", "1") {
					return ""
				}
				return fmt.Sprintf("wsrep_on = ON in a cluster of %s nodes, each of which can be written", v["wsrep_cluster_size"])
			}),
			"instances that write through different nodes meet at COMMIT as deadlocks, which are retried: nothing is issued twice, but each conflict costs a batch",
			"name the nodes in the same order in every instance's --database, so that all write to one",
		},
		{
			"galera-lock", LevelWarning,
			clustered(func(_ vitals, o Options) string {
				if o.Lock != "row" && o.Lock != "session" {
					return ""
				}
				return fmt.Sprintf("the lock %s: is held on one node only", o.Lock)
			}),
			"instances on different nodes do not see each other's lock; the guarded write still decides, at the price of conflicts",
			"choose the lock table:, or let all instances write to one node",
		},
	}
}
