package experiments

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// databaseFaults are those of the database itself.
func databaseFaults() []Experiment {
	return []Experiment{
		{Name: "database killed", Number: 9, places: servers(), soaks: true, run: databaseKilled},
		{Name: "database halted for 4 s", Number: 9, places: servers(), soaks: true, run: databaseHalted},
		{Name: "database slow", Number: 9, places: servers(), soaks: true, run: databaseSlow},
		{Name: "sessions killed again and again", Number: 10, places: servers(), soaks: true, run: sessionsKilled},
		{Name: "row lock held by a stranger for 5 s", Number: 12, places: everywhere(2), soaks: true, run: lockedFor(5 * time.Second)},
		{
			Name: "row lock held by a stranger for 60 s", Number: 12, places: []place{{"postgres", "for-update", "", 2}, {"mysql", "for-update", "", 2}},
			run: lockedFor(time.Minute),
		},
		{Name: "foreign transaction that lasts", Number: 12, places: servers(), soaks: true, run: foreignTransaction},
		{Name: "forced deadlocks", Number: 13, places: servers(), soaks: true, run: deadlocks},
		{Name: "isolation forced to serializable", Number: 13, places: at(2, "postgres"), run: serializable},
		{Name: "database read-only", Number: 17, places: servers(), soaks: true, run: readOnly},
		{Name: "database out of connections", Number: 17, places: servers(), soaks: true, run: outOfConnections},
	}
}

func databaseKilled(t *trial) error {
	t.Server.Kill()
	t.Sleep(200, 1500)
	return t.Server.Start()
}

func databaseHalted(t *trial) error {
	t.Server.Pause()
	defer t.Server.Resume()
	time.Sleep(4 * time.Second)
	return nil
}

func databaseSlow(t *trial) error { return t.slow(t.Server) }

// slow lets servers work only a small part of the time.
func (t *trial) slow(all ...*servertest.Server) error {
	each := func(do func(*servertest.Server)) {
		for _, server := range all {
			do(server)
		}
	}
	defer each((*servertest.Server).Resume)
	for range 30 {
		each((*servertest.Server).Pause)
		t.Sleep(40, 80)
		each((*servertest.Server).Resume)
		t.Sleep(5, 25)
	}
	return nil
}

// sessions lists the sessions of the service.
func (t *trial) sessions() (all []int64) {
	query := `SELECT id FROM information_schema.processlist WHERE user = '` + stage.ServiceRole + `'`
	if t.Kind == "postgres" {
		query = `SELECT pid FROM pg_stat_activity WHERE usename = '` + stage.ServiceRole + `' AND datname = current_database()`
	}
	rows, err := t.Base.Admin.QueryContext(t.Ctx, query)
	t.Must(err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		t.Must(rows.Scan(&id))
		all = append(all, id)
	}
	t.Must(rows.Err())
	return all
}

// killSessions ends every session of the service, and returns how many.
func (t *trial) killSessions() int {
	kill := `KILL %d`
	if t.Kind == "postgres" {
		kill = `SELECT pg_terminate_backend(%d)`
	}
	all := t.sessions()
	for _, id := range all {
		// One that has ended by itself is as well.
		_, _ = t.Base.Admin.ExecContext(t.Ctx, fmt.Sprintf(kill, id))
	}
	return len(all)
}

func sessionsKilled(t *trial) error {
	killed := 0
	for range 15 {
		killed += t.killSessions()
		t.Sleep(30, 150)
	}
	t.Note("%d sessions killed", killed)
	return nil
}

// serializable forces the isolation of every new session.
func serializable(t *trial) error {
	var name string
	t.Must(t.Base.Admin.QueryRowContext(t.Ctx, `SELECT current_database()`).Scan(&name))
	t.Must(stage.ExecAll(t.Base.Admin, `ALTER DATABASE `+name+` SET default_transaction_isolation = 'serializable'`))
	t.killSessions()
	time.Sleep(2 * time.Second)
	return stage.ExecAll(t.Base.Admin, `ALTER DATABASE `+name+` RESET default_transaction_isolation`)
}

func readOnly(t *trial) error {
	on, off := []string{`SET GLOBAL read_only = ON`}, []string{`SET GLOBAL read_only = OFF`}
	if t.Kind == "postgres" {
		const setting = `ALTER SYSTEM SET default_transaction_read_only = `
		on, off = []string{setting + `on`, `SELECT pg_reload_conf()`}, []string{setting + `off`, `SELECT pg_reload_conf()`}
	}
	t.Must(stage.ExecAll(t.Base.Admin, on...))
	time.Sleep(2 * time.Second)
	return stage.ExecAll(t.Base.Admin, off...)
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
		t.killSessions()
		for len(taken) < 200 {
			db, err := t.connect()
			if err != nil {
				break
			}
			taken = append(taken, db)
		}
	}
	t.Note("%d connections taken", len(taken))
	time.Sleep(2 * time.Second)
	return nil
}

// connect opens one connection more, as anyone could.
func (t *trial) connect() (*sql.DB, error) {
	db, err := sql.Open("pgx", t.HogURL)
	if t.Kind == "mysql" {
		db, err = harness.OpenMySQL(t.HogURL, "")
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(t.Ctx, 3*time.Second)
	defer cancel()
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}
