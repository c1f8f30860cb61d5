package experiments

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	words "drawsvc/loadtest/place"
)

// databaseFaults are the faults of the database itself.
func databaseFaults() []Experiment {
	return []Experiment{
		databaseKill(),
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

func databaseKill() Experiment {
	return Experiment{Name: "database killed", Number: 9, places: servers(), soaks: true, run: databaseKilled}
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

// slow pauses servers for most of the time.
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

func (t *trial) sessions() (all []int64) {
	rows, err := t.Base.Admin.QueryContext(t.Ctx, fmt.Sprintf(words.Of(t.Kind).Sessions, stage.ServiceRole))
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

// killSessions ends every session of the service, and returns their number.
func (t *trial) killSessions() int {
	all := t.sessions()
	for _, id := range all {
		// A session that has ended by itself is fine too.
		_, _ = t.Base.Admin.ExecContext(t.Ctx, fmt.Sprintf(words.Of(t.Kind).Kill, id))
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

// serializable sets the isolation level of every new session.
func serializable(t *trial) error {
	var name string
	t.Must(t.Base.Admin.QueryRowContext(t.Ctx, `SELECT current_database()`).Scan(&name))
	t.Must(stage.ExecAll(t.Base.Admin, `ALTER DATABASE `+name+` SET default_transaction_isolation = 'serializable'`))
	t.killSessions()
	time.Sleep(2 * time.Second)
	return stage.ExecAll(t.Base.Admin, `ALTER DATABASE `+name+` RESET default_transaction_isolation`)
}

func readOnly(t *trial) error {
	t.Must(stage.ExecAll(t.Base.Admin, words.Of(t.Kind).ReadOnly...))
	time.Sleep(2 * time.Second)
	return stage.ExecAll(t.Base.Admin, words.Of(t.Kind).Writable...)
}

// outOfConnections opens sessions until the server accepts no further session, not even
// one of the service.
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

func (t *trial) connect() (*sql.DB, error) {
	db, err := words.Open(t.HogURL)
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

// otherSession opens a connection that does not belong to the service.
func (t *trial) otherSession() (conn *sql.Conn, leave func()) {
	db := t.Base.Admin
	if t.Kind == "sqlite" {
		var err error
		db, err = words.Open(t.URL, "_pragma=busy_timeout(5000)")
		t.Must(err)
	}
	conn, err := db.Conn(t.Ctx)
	t.Must(err)
	return conn, func() {
		_ = conn.Close() // returns the connection to the pool of db
		if t.Kind == "sqlite" {
			_ = db.Close()
		}
	}
}

func (t *trial) say(conn *sql.Conn, statements ...string) error {
	for _, statement := range statements {
		if _, err := conn.ExecContext(t.Ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// lockPool returns the statements by which another session begins a transaction that
// locks the main pool.
func (t *trial) lockPool() []string {
	if t.Kind == "sqlite" {
		return []string{"BEGIN IMMEDIATE"}
	}
	return []string{"BEGIN", `SELECT version FROM pools WHERE id = '` + t.Pool(client.MainPool) + `' FOR UPDATE`}
}

// lockedFor locks the pool's row for some time. Draws on it are refused as busy; none
// may end in doubt, because none is written.
func lockedFor(d time.Duration) func(*trial) error {
	return func(t *trial) error {
		conn, leave := t.otherSession()
		defer leave()
		t.Must(t.say(conn, t.lockPool()...))
		from := t.History.Now()
		t.Wait(d)
		to := t.History.Now()
		t.Must(t.say(conn, "ROLLBACK"))
		t.Ended = time.Now()
		return t.onlyBusy(from, to)
	}
}

// onlyBusy demands that draws on the main pool that begin and end within a time are
// refused as contended. If the write itself waits, a late draw may end in doubt. On
// SQLite everything waits for the one writer, even the table of locks.
func (t *trial) onlyBusy(from, to time.Duration) error {
	busy, doubts, cut := 0, 0, 0
	for _, o := range t.History.Ops() {
		if o.Call < from || o.Return > to || o.Pool != t.Pool(client.MainPool) || o.Kind != history.Draw {
			continue
		}
		switch answer := o.Answer(); {
		case answer == "contended", t.Kind == "sqlite" && o.Busy():
			busy++
		case answer == "replayed" || answer == "overloaded":
		case answer == "outcome-unknown" && t.Mode != lockmode.ForUpdate:
			doubts++
		case answer == "store-unavailable" && o.Return-o.Call > t.Limit()*3/4:
			cut++ // the draw's time ended in the first wait; the service cannot distinguish that from a database that does not answer
		default:
			t.Verdict.Say(history.Fault, "under a lock that another session held: %s", &o)
		}
	}
	t.Note("%d refused as contended, %d in doubt, %d out of time in the wait", busy, doubts, cut)
	if cut > busy {
		t.Verdict.Say(history.Fault, "of %d draws under a lock that another session held only %d were answered that the pool is busy", busy+cut, busy)
	}
	if busy == 0 {
		return errors.New("the other session's lock kept nobody")
	}
	return nil
}

// foreignTransaction reads everything and stays open: it must block nothing.
func foreignTransaction(t *trial) error {
	conn, leave := t.otherSession()
	defer leave()
	begin := []string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "BEGIN"}
	if t.Kind == "postgres" {
		begin = []string{"BEGIN ISOLATION LEVEL REPEATABLE READ"}
	}
	t.Must(t.say(conn, append(begin, "SELECT * FROM pools", "SELECT * FROM prizes", "SELECT * FROM awards")...))
	from := t.History.Now()
	time.Sleep(3 * time.Second)
	for _, o := range t.History.Ops() {
		if o.Call > from && !o.Won() && !o.Refused() {
			t.Verdict.Say(history.Fault, "beside a transaction that only reads: %s", &o)
		}
	}
	return t.say(conn, "ROLLBACK")
}

// deadlocks locks a prize and then its pool, in the opposite order of the service.
func deadlocks(t *trial) error {
	conn, leave := t.otherSession()
	defer leave()
	pool, victims := t.Pool(client.MainPool), 0
	for until := time.Now().Add(3 * time.Second); time.Now().Before(until); t.Sleep(10, 60) {
		err := t.say(conn, "BEGIN", `UPDATE prizes SET changed = changed WHERE pool_id = '`+pool+`' AND id = 'tin'`)
		if err == nil {
			time.Sleep(20 * time.Millisecond)
			err = t.say(conn, t.lockPool()[1])
		}
		if err != nil {
			victims++ // here the victim is the other session
		}
		t.Must(t.say(conn, "ROLLBACK"))
	}
	t.Note("the other session was the victim %d times", victims)
	return nil
}
