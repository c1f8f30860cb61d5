package stock_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// metered is a database on a separate server that counts how much its statements read.
// Only the test makes the server gather statistics.
type metered struct {
	dialect, url string
	// fresh is the number of prizes of a large pool. It is smaller for SQLite, whose
	// plans do not depend on the size, and which is slow under the race detector.
	fresh int
	// read returns how much has been read so far. On PostgreSQL that is the number of
	// rows that any part of any plan returned or dropped. On MySQL it is the number of
	// rows requested from the storage engine, and on SQLite it is the number of pages.
	read func(*testing.T, *stock.Store) int64
}

// eachMetered runs a test, for each dialect, on an empty database without statistics and
// on one with old statistics. The two run one after the other on one server, whose
// counter includes both.
func eachMetered(t *testing.T, test func(t *testing.T, m metered, statistics string)) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			m := newMetered(t, dialect)
			for _, statistics := range []string{"none", "stale"} {
				t.Run(statistics, func(t *testing.T) {
					test(t, m.empty(t, statistics), statistics)
				})
			}
		})
	}
}

func newMetered(t *testing.T, dialect string) metered {
	switch dialect {
	case "sqlite":
		return metered{dialect, "", 2_000, readSQLite}
	case "mysql":
		server := servertest.Start(t, dialect, servertest.Args("--innodb-stats-auto-recalc=0"))
		return metered{dialect, server.URL(), 10_000, readMySQL}
	case "postgres":
		server := servertest.Start(t, dialect, servertest.Args("-c", "autovacuum=off"))
		return metered{dialect, server.URL(), 10_000, readPostgres(server)}
	}
	t.Fatalf("how to count what a new dialect %q reads?", dialect)
	return metered{}
}

// empty returns an empty database of the same server.
func (m metered) empty(t *testing.T, name string) metered {
	if m.dialect == "sqlite" {
		m.url = stocktest.URL(t, m.dialect)
		return m
	}
	stocktest.ExecAll(t, open(t, m.url, stock.Options{}), []string{"CREATE DATABASE statistics_" + name})
	location, err := url.Parse(m.url)
	require.NoError(t, err)
	location.Path = "/statistics_" + name
	m.url = location.String()
	return m
}

// open opens the database on which statements are counted.
func (m metered) open(t *testing.T) *stock.Store {
	location := m.url
	if m.dialect == "postgres" {
		options := url.Values{"options": {"-c session_preload_libraries=auto_explain -c auto_explain.log_min_duration=0" +
			" -c auto_explain.log_analyze=on -c auto_explain.log_timing=off -c auto_explain.log_format=json"}}
		location += "&" + strings.ReplaceAll(options.Encode(), "+", "%20") // PostgreSQL's URLs do not support +
	}
	s := stocktest.Open(t, location, stock.Options{})
	if m.dialect == "sqlite" {
		s.Engine().Read.SetMaxOpenConns(1) // each connection has its own counters
	}
	return s
}

// count returns how much is read while work runs.
func (m metered) count(t *testing.T, s *stock.Store, work func()) int64 {
	before := m.read(t, s)
	work()
	return m.read(t, s) - before
}

func readSQLite(t *testing.T, s *stock.Store) (pages int64) {
	for _, db := range []*sql.DB{s.Engine().Read, s.LockDB()} { // the readers, and then the writer
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		require.NoError(t, conn.Raw(func(c any) error {
			hit, _, err := c.(sqlite.DBStatus).Status(sqlite.DBStatusCacheHit, false)
			require.NoError(t, err)
			miss, _, err := c.(sqlite.DBStatus).Status(sqlite.DBStatusCacheMiss, false)
			pages += int64(hit + miss)
			return err
		}))
		require.NoError(t, conn.Close())
	}
	return pages
}

func readMySQL(t *testing.T, s *stock.Store) (rows int64) {
	found, err := s.Engine().Read.QueryContext(t.Context(), `SHOW GLOBAL STATUS LIKE 'Handler_read%'`)
	require.NoError(t, err)
	defer found.Close()
	for found.Next() {
		var name string
		var n int64
		require.NoError(t, found.Scan(&name, &n))
		rows += n
	}
	require.NoError(t, found.Err())
	return rows
}

// readPostgres returns a function that adds up the plans that auto_explain has written to
// the log. Each call continues where the one before stopped.
func readPostgres(server *servertest.Server) func(*testing.T, *stock.Store) int64 {
	var at, rows int64
	return func(t *testing.T, _ *stock.Store) int64 {
		log, err := os.Open(filepath.Join(server.Dir(), "log"))
		require.NoError(t, err)
		defer log.Close()
		_, err = log.Seek(at, io.SeekStart)
		require.NoError(t, err)
		lines := bufio.NewReader(log)
		for {
			line, err := lines.ReadString('\n')
			if err == io.EOF {
				end, err := log.Seek(0, io.SeekCurrent)
				require.NoError(t, err)
				at = end - int64(len(line)) // the rest of this line is not written yet
				return rows
			}
			require.NoError(t, err)
			if strings.HasSuffix(line, " plan:\n") {
				rows += planned(t, lines).rows()
			}
		}
	}
}

// plan is a node of a plan, in the form of EXPLAIN (ANALYZE, FORMAT JSON).
type plan struct {
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Filtered float64 `json:"Rows Removed by Filter"`
	Unjoined float64 `json:"Rows Removed by Join Filter"`
	Plans    []plan
}

func planned(t *testing.T, log *bufio.Reader) plan {
	var text bytes.Buffer
	for next, err := log.Peek(1); err == nil && next[0] == '\t'; next, err = log.Peek(1) {
		line, err := log.ReadBytes('\n')
		require.NoError(t, err)
		text.Write(line)
	}
	var said struct{ Plan plan }
	require.NoError(t, json.Unmarshal(text.Bytes(), &said), "%s", text.String())
	return said.Plan
}

func (p plan) rows() int64 {
	rows := int64((p.Rows + p.Filtered + p.Unjoined) * p.Loops)
	for _, part := range p.Plans {
		rows += part.rows()
	}
	return rows
}

// gather makes the database gather statistics of all tables.
func (m metered) gather(t *testing.T, s *stock.Store) {
	statement := map[string]string{
		"sqlite": "ANALYZE", "postgres": "ANALYZE", "mysql": "ANALYZE TABLE pools, prizes, awards, moves",
	}[m.dialect]
	_, err := s.LockDB().ExecContext(t.Context(), statement)
	require.NoError(t, err)
}

// rebind converts the parameters of a query to the form of the dialect.
func (m metered) rebind(query string) string {
	for n := 1; m.dialect == "postgres" && strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", fmt.Sprintf("$%d", n), 1)
	}
	return query
}

// drain reads all rows of a query.
func (m metered) drain(ctx context.Context, db *sql.DB, query string, args ...any) error {
	rows, err := db.QueryContext(ctx, m.rebind(query), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}
