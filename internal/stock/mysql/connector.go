package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-sql-driver/mysql"

	"drawsvc/internal/stock/engine"
)

// connector connects to the first of its hosts that can be written to, and gives every
// connection the settings that draws rely on.
type connector struct {
	all      []host
	known    *engine.Hosts
	lockWait time.Duration
	// readOnly makes the sessions read-only.
	readOnly bool
	// settings are further settings of each session.
	settings []string
	// failOver closes the idle connections.
	failOver func()
}

type host struct {
	driver.Connector
	addr string
}

// newConnector expects a config that was checked: a connector was made from it before.
func newConnector(config *mysql.Config, hosts []string, e *engine.Engine, known *engine.Hosts, silence time.Duration, o engine.Options) *connector {
	s := &connector{known: known, lockWait: o.LockWait, readOnly: o.ReadOnly, settings: e.Session, failOver: e.FailOver}
	for _, addr := range hosts {
		c := config.Clone()
		c.Addr, c.ReadTimeout = addr, silence
		connector, err := mysql.NewConnector(c)
		if err != nil {
			panic("mysql: " + err.Error()) // was checked
		}
		s.all = append(s.all, host{connector, addr})
	}
	return s
}

// Driver implements driver.Connector.
func (s *connector) Driver() driver.Driver { return s.all[0].Driver() }

// Connect implements driver.Connector. The hosts are tried in the configured order, so
// that instances with the same order write to the same host; hosts that failed recently
// come last.
func (s *connector) Connect(ctx context.Context) (driver.Conn, error) {
	var failed error
	for n, next := range engine.InOrder(s.known, s.all, func(h host) string { return h.addr }) {
		limit := engine.ConnectMax
		if until, bound := ctx.Deadline(); bound { // one silent host must leave time for the next
			limit = min(limit, time.Until(until)/time.Duration(len(s.all)-n))
		}
		conn, err := s.connect(ctx, next, limit)
		if err == nil {
			return &session{driverConn: conn, failOver: s.failOver}, nil
		}
		s.known.Failed(next.addr)
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// connect opens a connection and makes its settings. It makes them by statements, not by
// the driver's config, because MySQL and MariaDB name the variables differently.
func (s *connector) connect(ctx context.Context, host driver.Connector, limit time.Duration) (driverConn, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	made, err := host.Connect(ctx)
	if err != nil {
		return nil, err
	}
	conn := made.(driverConn)
	wait := max(1, int(s.lockWait.Round(time.Second).Seconds()))
	settings := []string{
		// With the default, REPEATABLE READ, a SELECT reads an old snapshot, while an
		// UPDATE uses the latest rows.
		`SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED`,
		fmt.Sprintf(`SET SESSION innodb_lock_wait_timeout = %d, lock_wait_timeout = %d`, wait, statementSeconds),
		`SET SESSION autocommit = 1, time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'`,
	}
	for _, setting := range append(settings, s.settings...) {
		if _, err := conn.ExecContext(ctx, setting, nil); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	if err := s.checkServer(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// checkServer reads the server's state in its cluster. A Galera node may lag behind nodes
// that have acknowledged more. With wsrep_sync_wait, a read waits until its node is up to
// date, so that no answer depends on an outdated state.
func (s *connector) checkServer(ctx context.Context, conn driverConn) error {
	said := map[string]string{}
	if err := ask(ctx, conn, `SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'wsrep_on', 'log_bin', 'binlog_format')`, said); err != nil {
		return err
	}
	if !s.readOnly && said["log_bin"] == "ON" && said["binlog_format"] == "STATEMENT" {
		return engine.Unavailable("binlog-format", errBinlog, true)
	}
	if len(s.all) > 1 {
		if err := isWritable(ctx, conn, said); err != nil {
			return err
		}
	}
	if said["wsrep_on"] != "ON" {
		return nil
	}
	_, err := conn.ExecContext(ctx, `SET SESSION wsrep_sync_wait = 1`, nil)
	return err
}

// errBinlog means that the server would refuse every write of the service with error
// 1665, because the sessions use READ COMMITTED.
var errBinlog = errors.New("binlog_format = STATEMENT: the server refuses every write of the service (error 1665); " +
	"set binlog_format = ROW, `drawsvc doctor` says why")

// isWritable returns an error if the server is read-only, or is a node that is currently
// not part of its Galera cluster.
func isWritable(ctx context.Context, conn driverConn, said map[string]string) error {
	if err := ask(ctx, conn, `SHOW GLOBAL STATUS LIKE 'wsrep_ready'`, said); err != nil {
		return err
	}
	if said["read_only"] == "ON" || said["wsrep_on"] == "ON" && said["wsrep_ready"] != "ON" {
		return engine.Unavailable(engine.ReasonNotReady, fmt.Errorf("the server says %v", said), true)
	}
	return nil
}

// ask executes a SHOW and adds the names and values that it returns to said.
func ask(ctx context.Context, conn driverConn, question string, said map[string]string) (err error) {
	rows, err := conn.QueryContext(ctx, question, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for answer := make([]driver.Value, 2); ; {
		if err := rows.Next(answer); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		said[fmt.Sprintf("%s", answer[0])] = fmt.Sprintf("%s", answer[1])
	}
}
