package main

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/history"
)

// stranger opens a connection that has nothing to do with the service.
func (t *trial) stranger() (*sql.Conn, func(), error) {
	db := t.base.admin
	if t.kind == "sqlite" {
		var err error
		if db, err = sql.Open("sqlite", "file:"+t.file+"?_pragma=busy_timeout(5000)"); err != nil {
			return nil, nil, err
		}
	}
	conn, err := db.Conn(t.ctx)
	if err != nil {
		return nil, nil, err
	}
	return conn, func() {
		_ = conn.Close() // gives it back
		if t.kind == "sqlite" {
			_ = db.Close()
		}
	}, nil
}

// say runs statements on a stranger's connection.
func (t *trial) say(conn *sql.Conn, statements ...string) error {
	for _, statement := range statements {
		if _, err := conn.ExecContext(t.ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// lockPool is how a stranger begins a transaction that locks the main pool.
func (t *trial) lockPool() []string {
	if t.kind == "sqlite" {
		return []string{"BEGIN IMMEDIATE"}
	}
	return []string{"BEGIN", `SELECT version FROM pools WHERE id = '` + t.pool(mainPool) + `' FOR UPDATE`}
}

// strangerFor locks the pool's row for some time. Draws on it are refused as
// busy; none may end in doubt, because none is written.
func strangerFor(d time.Duration) func(*trial) error {
	return func(t *trial) error {
		conn, leave, err := t.stranger()
		if err != nil {
			return err
		}
		defer leave()
		if err := t.say(conn, t.lockPool()...); err != nil {
			return err
		}
		from := t.history.Now()
		select {
		case <-time.After(d):
		case <-t.ctx.Done():
		}
		to := t.history.Now()
		if err := t.say(conn, "ROLLBACK"); err != nil {
			return err
		}
		t.ended = time.Now()
		return t.onlyBusy(from, to)
	}
}

// onlyBusy wants draws that were made and answered within a time to be refused
// as contended, as far as they are on the main pool. Where the write itself is
// what waits, a draw that came late may end in doubt. In a file, everything
// waits for its one writer, the table of locks too.
func (t *trial) onlyBusy(from, to time.Duration) error {
	busy, doubts, cut := 0, 0, 0
	for _, o := range t.history.Ops() {
		if o.Call < from || o.Return > to || o.Pool != t.pool(mainPool) || o.Kind != history.Draw {
			continue
		}
		switch answer := o.Answer(); {
		case answer == "contended", t.kind == "sqlite" && o.Busy():
			busy++
		case answer == "replayed" || answer == "overloaded":
		case answer == "outcome-unknown" && t.mode != lockmode.ForUpdate:
			doubts++
		case answer == "store-unavailable" && o.Return-o.Call > t.limit()*3/4:
			cut++ // its time was over in the first wait: that looks like a database that does not answer
		default:
			t.verdict.Say(history.Fault, "under a lock that a stranger held: %s", &o)
		}
	}
	t.note("%d refused as contended, %d in doubt, %d out of time in the wait", busy, doubts, cut)
	if cut > busy {
		t.verdict.Say(history.Fault, "of %d draws under a lock that a stranger held only %d were told that the pool is busy", busy+cut, busy)
	}
	if busy == 0 {
		return errors.New("the stranger's lock kept nobody")
	}
	return nil
}

// foreignTransaction reads everything and stays: it must be in nobody's way.
func foreignTransaction(t *trial) error {
	conn, leave, err := t.stranger()
	if err != nil {
		return err
	}
	defer leave()
	begin := []string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "BEGIN"}
	if t.kind == "postgres" {
		begin = []string{"BEGIN ISOLATION LEVEL REPEATABLE READ"}
	}
	if err := t.say(conn, append(begin, "SELECT * FROM pools", "SELECT * FROM prizes", "SELECT * FROM awards")...); err != nil {
		return err
	}
	from := t.history.Now()
	time.Sleep(3 * time.Second)
	for _, o := range t.history.Ops() {
		if o.Call > from && !o.Won() && !o.Refused() {
			t.verdict.Say(history.Fault, "beside a transaction that only reads: %s", &o)
		}
	}
	return t.say(conn, "ROLLBACK")
}

// deadlocks locks a prize and then its pool, against the order of the service.
func deadlocks(t *trial) error {
	conn, leave, err := t.stranger()
	if err != nil {
		return err
	}
	defer leave()
	pool, victims := t.pool(mainPool), 0
	for until := time.Now().Add(3 * time.Second); time.Now().Before(until); t.sleep(10, 60) {
		err := t.say(conn, "BEGIN", `UPDATE prizes SET changed = changed WHERE pool_id = '`+pool+`' AND id = 'tin'`)
		if err == nil {
			time.Sleep(20 * time.Millisecond)
			err = t.say(conn, t.lockPool()[1])
		}
		if err != nil {
			victims++ // the stranger, this time
		}
		if err := t.say(conn, "ROLLBACK"); err != nil {
			return err
		}
	}
	t.note("the stranger was the victim %d times", victims)
	return nil
}
