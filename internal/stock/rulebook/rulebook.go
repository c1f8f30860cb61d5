// Package rulebook holds the shared parts of the doctor's rules: how settings are read
// and compared, and the rules that apply to all databases.
package rulebook

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"drawsvc/internal/stock/engine"
)

// ReadVitals adds the names and values that a query returns to v.
func ReadVitals(ctx context.Context, e *engine.Engine, v engine.Vitals, query string) error {
	type pair struct{ name, value string }
	pairs, err := engine.QueryAll(ctx, e.Read, func(row engine.Scanner) (p pair, err error) {
		err = row.Scan(&p.name, &p.value)
		return p, err
	}, query)
	for _, p := range pairs {
		v[strings.ToLower(p.name)] = p.value
	}
	return err
}

// SetTo returns a check that fails if a setting has one of the values.
func SetTo(name string, values ...string) func(engine.Vitals, engine.Serving) string {
	return func(v engine.Vitals, _ engine.Serving) string {
		if _, known := v[name]; known && v.Has(name, values...) {
			return name + " = " + v[name]
		}
		return ""
	}
}

// NotSetTo returns a check that fails unless a setting has one of the values.
func NotSetTo(name string, values ...string) func(engine.Vitals, engine.Serving) string {
	return func(v engine.Vitals, _ engine.Serving) string {
		if v.Has(name, values...) {
			return ""
		}
		return name + " = " + v[name]
	}
}

// NoLarger returns a check that fails if a size in bytes does not exceed the default.
func NoLarger(name string, size int64) func(engine.Vitals, engine.Serving) string {
	return func(v engine.Vitals, _ engine.Serving) string {
		bytes, err := strconv.ParseInt(v[name], 10, 64)
		if err != nil || bytes > size {
			return "" // also without such a setting
		}
		return fmt.Sprintf("%s = %d MB", name, bytes/Mebibyte)
	}
}

// Mebibyte is the unit in which sizes are reported.
const Mebibyte = 1 << 20

// The default size of buffers, and why small buffers matter. The default is enough for
// short logs, so a server with the default gets only a note. The figures are for random
// keys on 2 million awards, see docs/performance.md.
const (
	BuffersDefault = 128 * Mebibyte
	WhyBuffers     = "the index of draw keys no longer fits once the log has some million awards, " +
		"so that draws wait for pages and for room: at 2 million "
)

// instanceConnections is the maximum number of connections of one instance: for draws and
// for locks, for changes, reads and the readiness check.
const instanceConnections = 2*engine.ConnectionsMax + engine.AdminConnections + engine.ReadConnections + engine.ProbeConnections

// Connections returns the rule that the server has enough free connections.
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

// The names of vitals that databases share.
const (
	// PoolSize is the maximum number of connections for draws.
	PoolSize = "pool size"
	// instances is the number of connected processes of drawsvc, without this one.
	instances = "instances"
)

// WhyArchive explains what is lost if a server keeps no log of its changes.
const WhyArchive = "the database can be restored only to its last backup: draws that were acknowledged since are lost, and may be won again"

// Instances returns the rule on the connections of all instances together.
func Instances() engine.Rule {
	return engine.NewRule(
		"max-connections", engine.LevelWarning,
		func(v engine.Vitals, _ engine.Serving) string {
			maximum, err := strconv.Atoi(v["max_connections"])
			connected, failed := strconv.Atoi(v[instances])
			size, unknown := strconv.Atoi(v[PoolSize])
			each := size + engine.AdminConnections + engine.ReadConnections + engine.ProbeConnections
			if err != nil || failed != nil || unknown != nil || maximum >= connected*each {
				return ""
			}
			return fmt.Sprintf("connected instances: %d, of up to %d connections each; the server allows %d", connected, each, maximum)
		},
		"under load the server refuses the connections that are too many, and draws are answered 503",
		"raise max_connections, run fewer instances, lower pool_max_conns in the URL of PostgreSQL, or put pgbouncer before it",
	)
}

// TablesWithDeletes returns the tables from which a running service deletes rows: DELETE on others
// is only for `pool delete` and `codes reseal`.
func TablesWithDeletes() []string { return []string{"catalogue", "codes", "job_runs", "lock_tokens"} }

// Privileges returns the rule that the account has all privileges on the service's
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
		"draws and changes that need it are answered 503 or 500, and jobs that need it do not run",
		"grant it to the account that runs `serve`: docs/install.md has the statements",
	)
}
