package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// databaseFaults are those of the database itself.
func databaseFaults() []experiment {
	return []experiment{
		{name: "database killed", number: 9, places: servers(), soaks: true, run: databaseKilled},
		{name: "database halted for 4 s", number: 9, places: servers(), soaks: true, run: databaseHalted},
		{name: "database slow", number: 9, places: servers(), soaks: true, run: databaseSlow},
		{name: "sessions killed again and again", number: 10, places: servers(), soaks: true, run: sessionsKilled},
		{name: "row lock held by a stranger for 5 s", number: 12, places: everywhere(2), soaks: true, run: strangerFor(5 * time.Second)},
		{
			name: "row lock held by a stranger for 60 s", number: 12, places: []place{{"postgres", "for-update", "", 2}, {"mysql", "for-update", "", 2}},
			run: strangerFor(time.Minute),
		},
		{name: "foreign transaction that lasts", number: 12, places: servers(), soaks: true, run: foreignTransaction},
		{name: "forced deadlocks", number: 13, places: servers(), soaks: true, run: deadlocks},
		{name: "isolation forced to serializable", number: 13, places: at(2, "postgres"), run: serializable},
		{name: "database read-only", number: 17, places: servers(), soaks: true, run: readOnly},
		{name: "database out of connections", number: 17, places: servers(), soaks: true, run: outOfConnections},
	}
}

func databaseKilled(t *trial) error {
	t.server.Kill()
	t.sleep(200, 1500)
	return t.server.Start()
}

func databaseHalted(t *trial) error {
	t.server.Pause()
	defer t.server.Resume()
	time.Sleep(4 * time.Second)
	return nil
}

// databaseSlow lets the server work only a small part of the time.
func databaseSlow(t *trial) error {
	defer t.server.Resume()
	for range 30 {
		t.server.Pause()
		t.sleep(40, 80)
		t.server.Resume()
		t.sleep(5, 25)
	}
	return nil
}

// sessions lists the sessions of the service.
func (t *trial) sessions() ([]int64, error) {
	query := `SELECT id FROM information_schema.processlist WHERE user = '` + serviceRole + `'`
	if t.kind == "postgres" {
		query = `SELECT pid FROM pg_stat_activity WHERE usename = '` + serviceRole + `' AND datname = current_database()`
	}
	rows, err := t.base.admin.QueryContext(t.ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		all = append(all, id)
	}
	return all, rows.Err()
}

// killSessions ends every session of the service, and returns how many.
func (t *trial) killSessions() (int, error) {
	all, err := t.sessions()
	if err != nil {
		return 0, err
	}
	kill := `KILL %d`
	if t.kind == "postgres" {
		kill = `SELECT pg_terminate_backend(%d)`
	}
	for _, id := range all {
		// One that has ended by itself is as well.
		_, _ = t.base.admin.ExecContext(t.ctx, fmt.Sprintf(kill, id))
	}
	return len(all), nil
}

func sessionsKilled(t *trial) error {
	killed := 0
	for range 15 {
		n, err := t.killSessions()
		if err != nil {
			return err
		}
		killed += n
		t.sleep(30, 150)
	}
	t.note("%d sessions killed", killed)
	return nil
}

// serializable forces the isolation of every new session.
func serializable(t *trial) error {
	var name string
	if err := t.base.admin.QueryRowContext(t.ctx, `SELECT current_database()`).Scan(&name); err != nil {
		return err
	}
	if err := execAll(t.base.admin, `ALTER DATABASE `+name+` SET default_transaction_isolation = 'serializable'`); err != nil {
		return err
	}
	if _, err := t.killSessions(); err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	return execAll(t.base.admin, `ALTER DATABASE `+name+` RESET default_transaction_isolation`)
}

func readOnly(t *trial) error {
	on, off := []string{`SET GLOBAL read_only = ON`}, []string{`SET GLOBAL read_only = OFF`}
	if t.kind == "postgres" {
		const setting = `ALTER SYSTEM SET default_transaction_read_only = `
		on, off = []string{setting + `on`, `SELECT pg_reload_conf()`}, []string{setting + `off`, `SELECT pg_reload_conf()`}
	}
	if err := execAll(t.base.admin, on...); err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	return execAll(t.base.admin, off...)
}

// outOfConnections takes every connection that the server has, those of the
// service too.
func outOfConnections(t *trial) error {
	var taken []*sql.DB
	defer func() {
		for _, db := range taken {
			_ = db.Close()
		}
	}()
	for range 5 {
		if _, err := t.killSessions(); err != nil {
			return err
		}
		for len(taken) < 200 {
			db, err := t.connect()
			if err != nil {
				break
			}
			taken = append(taken, db)
		}
	}
	t.note("%d connections taken", len(taken))
	time.Sleep(2 * time.Second)
	return nil
}

// connect opens one connection more, as anyone could.
func (t *trial) connect() (*sql.DB, error) {
	db, err := sql.Open("pgx", t.hogURL)
	if t.kind == "mysql" {
		db, err = openMySQL(t.hogURL, "")
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(t.ctx, 3*time.Second)
	defer cancel()
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}
