package mysql

import (
	"fmt"
	"strings"

	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/rulebook"
)

// clustered is broken only on a node of a Galera cluster.
func clustered(broken func(v engine.Vitals, o engine.Serving) string) func(engine.Vitals, engine.Serving) string {
	return func(v engine.Vitals, o engine.Serving) string {
		if !v.Has("wsrep_on", "ON", "1") {
			return ""
		}
		return broken(v, o)
	}
}

// clusterRules are the rules of Galera.
func clusterRules() []engine.Rule {
	return []engine.Rule{
		engine.NewRule(
			"galera-quorum", engine.LevelDanger,
			clustered(func(v engine.Vitals, _ engine.Serving) string {
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
		),
		engine.NewRule(
			"galera-not-primary", engine.LevelDanger,
			clustered(rulebook.NotSetTo("wsrep_cluster_status", "Primary")),
			"the node is cut off from its cluster: nothing can be drawn here, and what is read here may be old",
			"bring its cluster together, or name another node in --database",
		),
		engine.NewRule(
			"galera-not-synced", engine.LevelWarning,
			clustered(rulebook.NotSetTo("wsrep_local_state_comment", "Synced")),
			"the node lags behind its cluster, or serves another as donor: draws are slow here and conflict more often",
			"wait until it is Synced, or name another node first in --database",
		),
		engine.NewRule(
			"galera-writers", engine.LevelWarning,
			clustered(func(v engine.Vitals, _ engine.Serving) string {
				if v.Has("wsrep_cluster_size", "", "0", "1") {
					return ""
				}
				return fmt.Sprintf("wsrep_on = ON in a cluster of %s nodes, each of which can be written", v["wsrep_cluster_size"])
			}),
			"instances that write through different nodes meet at COMMIT as deadlocks, which are retried: nothing is issued twice, but each conflict costs a batch",
			"name the nodes in the same order in every instance's --database, so that all write to one",
		),
		engine.NewRule(
			"galera-lock", engine.LevelWarning,
			clustered(func(_ engine.Vitals, o engine.Serving) string {
				if o.Lock != "row" && o.Lock != "session" {
					return ""
				}
				return fmt.Sprintf("the lock %s: is held on one node only", o.Lock)
			}),
			"instances on different nodes do not see each other's lock; the guarded write still decides, at the price of conflicts",
			"choose the lock table:, or let all instances write to one node",
		),
	}
}
