package experiments

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
)

// otherSession opens a connection that has nothing to do with the service.
func (t *trial) otherSession() (conn *sql.Conn, leave func()) {
	db := t.Base.Admin
	if t.Kind == "sqlite" {
		var err error
		db, err = sql.Open("sqlite", "file:"+t.File+"?_pragma=busy_timeout(5000)")
		t.Must(err)
	}
	conn, err := db.Conn(t.Ctx)
	t.Must(err)
	return conn, func() {
		_ = conn.Close() // gives it back
		if t.Kind == "sqlite" {
			_ = db.Close()
		}
	}
}

// say runs statements on the connection of another session.
func (t *trial) say(conn *sql.Conn, statements ...string) error {
	for _, statement := range statements {
		if _, err := conn.ExecContext(t.Ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// lockPool is how another session begins a transaction that locks the main pool.
func (t *trial) lockPool() []string {
	if t.Kind == "sqlite" {
		return []string{"BEGIN IMMEDIATE"}
	}
	return []string{"BEGIN", `SELECT version FROM pools WHERE id = '` + t.Pool(client.MainPool) + `' FOR UPDATE`}
}

// lockedFor locks the pool's row for some time. Draws on it are refused as
// busy; none may end in doubt, because none is written.
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

// onlyBusy wants draws that were made and answered within a time to be refused
// as contended, as far as they are on the main pool. Where the write itself is
// what waits, a draw that came late may end in doubt. In a file, everything
// waits for its one writer, the table of locks too.
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
			cut++ // its time was over in the first wait: that looks like a database that does not answer
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

// foreignTransaction reads everything and stays: it must be in nobody's way.
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

// deadlocks locks a prize and then its pool, against the order of the service.
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
			victims++ // the other session, this time
		}
		t.Must(t.say(conn, "ROLLBACK"))
	}
	t.Note("the other session was the victim %d times", victims)
	return nil
}
