package postgres

import (
	"context"
	"regexp"
	"strconv"

	"drawsvc/internal/stock/engine"
)

// sqlStandbys counts the connected standbys. An account without the right
// pg_read_all_stats cannot see their state, so a running base backup counts for it too.
const sqlStandbys = `SELECT (SELECT count(*) FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup'),
	CASE WHEN pg_is_in_recovery() OR current_setting('synchronous_commit') IN ('off', 'local') THEN '' ELSE current_setting('synchronous_standby_names') END`

// readStandbys implements Standbys of the dialect.
func readStandbys(ctx context.Context, e *engine.Engine) (s engine.Standbys, err error) {
	var names string
	err = e.Read.QueryRowContext(ctx, sqlStandbys).Scan(&s.Connected, &names)
	s.Required = requiredStandbys(names)
	return s, err
}

// method matches the beginning of synchronous_standby_names with a number: FIRST 2 (a, b, c),
// ANY 2 (a, b, c), or 2 (a, b, c).
var method = regexp.MustCompile(`(?i)^\s*(?:FIRST\s+|ANY\s+)?(\d+)\s*\(`)

// requiredStandbys returns how many standbys must confirm a commit. A list without a
// number requires one standby.
func requiredStandbys(names string) int {
	if names == "" {
		return 0
	}
	if found := method.FindStringSubmatch(names); found != nil {
		n, _ := strconv.Atoi(found[1]) // digits; the server has checked the range
		return n
	}
	return 1
}
