package rulebook

import (
	"fmt"
	"strconv"

	"drawsvc/internal/stock/engine"
)

// instanceConnections are the most that one instance opens by itself: for
// draws and for locks, for changes, reads and the check of readiness.
const instanceConnections = 2*engine.ConnectionsMax + engine.AdminConnections + engine.ReadConnections + engine.ProbeConnections

// Connections is the rule on how many connections are left on the server.
func Connections() engine.Rule {
	return engine.NewRule(
		"connections", engine.LevelWarning,
		func(v engine.Vitals, _ engine.Serving) string {
			most, err := strconv.Atoi(v["max_connections"])
			used, failed := strconv.Atoi(v["threads_connected"])
			if err != nil || failed != nil || most-used >= instanceConnections {
				return ""
			}
			return fmt.Sprintf("%d of %d connections are left", max(0, most-used), most)
		},
		fmt.Sprintf("an instance opens up to %d: where the server refuses one, draws are answered 503", instanceConnections),
		"raise max_connections, lower the pools of other clients, or put pgbouncer before a PostgreSQL server",
	)
}

// Privileges is the rule on what the account may not do with the service's
// tables.
func Privileges() engine.Rule {
	return engine.NewRule(
		"privileges", engine.LevelDanger,
		func(v engine.Vitals, _ engine.Serving) string {
			if v["missing privileges"] == "" {
				return ""
			}
			return "this account lacks " + v["missing privileges"]
		},
		"draws, changes or jobs that need it are answered 503 or 500",
		"grant SELECT, INSERT and UPDATE on the tables of drawsvc to the account that runs `serve`",
	)
}
