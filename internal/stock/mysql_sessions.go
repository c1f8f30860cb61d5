package stock

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-sql-driver/mysql"
)

// mysqlSessions connects to the first of its hosts that can be written, and
// gives every connection the settings that draws rely on.
type mysqlSessions struct {
	hosts    []driver.Connector
	lockWait time.Duration
}

// newMySQLSessions needs a config that a connector was made of before.
func newMySQLSessions(config *mysql.Config, hosts []string, silence, lockWait time.Duration) *mysqlSessions {
	s := &mysqlSessions{lockWait: lockWait}
	for _, host := range hosts {
		c := config.Clone()
		c.Addr, c.ReadTimeout = host, silence
		connector, err := mysql.NewConnector(c)
		if err != nil {
			panic("stock: " + err.Error()) // was checked
		}
		s.hosts = append(s.hosts, connector)
	}
	return s
}

// Driver implements driver.Connector.
func (s *mysqlSessions) Driver() driver.Driver { return s.hosts[0].Driver() }

// Connect implements driver.Connector. The hosts are tried in their order, so
// that the instances that name them in one order write to one of them.
func (s *mysqlSessions) Connect(ctx context.Context) (driver.Conn, error) {
	var failed error
	for _, host := range s.hosts {
		conn, err := s.connect(ctx, host)
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// connect makes a connection and its settings. These are statements, because
// the names of the variables differ between MySQL and MariaDB.
func (s *mysqlSessions) connect(ctx context.Context, host driver.Connector) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout) // a silent host must not keep from the next
	defer cancel()
	conn, err := host.Connect(ctx)
	if err != nil {
		return nil, err
	}
	wait := max(1, int(s.lockWait.Round(time.Second).Seconds()))
	settings := []string{
		// The default, REPEATABLE READ, shows an old snapshot to SELECT and
		// the latest rows to UPDATE.
		`SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED`,
		fmt.Sprintf(`SET SESSION innodb_lock_wait_timeout = %d, lock_wait_timeout = %d`, wait, statementSeconds),
		`SET SESSION time_zone = '+00:00', sql_mode = CONCAT(@@SESSION.sql_mode, ',STRICT_ALL_TABLES')`,
	}
	for _, setting := range settings {
		if _, err := conn.(driver.ExecerContext).ExecContext(ctx, setting, nil); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	if len(s.hosts) > 1 {
		if err := isWritable(ctx, conn); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

// isWritable refuses a server that is read-only, and a node of a Galera
// cluster that is not part of it just now.
func isWritable(ctx context.Context, conn driver.Conn) error {
	said := map[string]string{}
	for _, question := range []string{
		`SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'wsrep_on')`,
		`SHOW GLOBAL STATUS LIKE 'wsrep_ready'`,
	} {
		if err := ask(ctx, conn, question, said); err != nil {
			return err
		}
	}
	if said["read_only"] == "ON" || said["wsrep_on"] == "ON" && said["wsrep_ready"] != "ON" {
		return unavailable(reasonNotReady, fmt.Errorf("the server says %v", said), true)
	}
	return nil
}

// ask adds the names and values of a SHOW to said.
func ask(ctx context.Context, conn driver.Conn, question string, said map[string]string) (err error) {
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, question, nil)
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
