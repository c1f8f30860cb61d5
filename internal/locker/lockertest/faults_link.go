package lockertest

import (
	"errors"
	"fmt"
	"time"

	"drawsvc/internal/servertest"
)

// linkBroken: a holder without a link to its service is notified. A process that can
// still reach the service can get the lock; any other is refused quickly. When the link
// is restored, the same locks work again.
func linkBroken(r *rig, sever func(*servertest.Proxy)) error {
	near, err := r.warm(r.Subject, 0)
	if err != nil {
		return err
	}
	holder, cutOff, first, err := r.held(r.far)
	if err != nil {
		return err
	}
	r.links.each(sever)
	if err := within(r.ctx, r.Term+slack, first.lost, "the holder is notified"); err != nil {
		return err
	}
	took, err := r.refused(cutOff)
	if err != nil {
		return err
	}
	r.result.BrokenRefused = max(r.result.BrokenRefused, milliseconds(took))
	token, _, err := r.served(near, r.Term+slack)
	if err := errors.Join(err, after(first.token, token)); err != nil {
		return fmt.Errorf("one who has the service: %w", err)
	}
	if err := r.vault.write(r.ctx, r.key, token); err != nil {
		return err
	}
	if err := r.vault.write(r.ctx, r.key, first.token); err == nil {
		return fmt.Errorf("the write of the one who was cut off was not refused")
	}
	if err := first.release(); err != nil {
		return err
	}
	r.links.each((*servertest.Proxy).Pass)
	for _, l := range []*opened{cutOff, holder} {
		if _, _, err := r.served(l, backMax); err != nil {
			return err
		}
	}
	return nil
}

// cutWhileWaiting: a waiter whose link is cut keeps no place in the queue and no lock,
// whatever error it gets.
func cutWhileWaiting(r *rig) error {
	holder, err := r.warm(r.Subject, patience)
	if err != nil {
		return err
	}
	waiter, err := r.warm(r.far, patience)
	if err != nil {
		return err
	}
	near, err := r.warm(r.Subject, 0)
	if err != nil {
		return err
	}
	first, err := r.grab(holder)
	if err != nil {
		return err
	}
	waited := make(chan error, 1)
	go func() { waited <- waiter.WithLock(r.ctx, r.key, nothing) }()
	time.Sleep(100 * time.Millisecond)
	r.links.each((*servertest.Proxy).Cut)
	time.Sleep(100 * time.Millisecond)
	r.links.each((*servertest.Proxy).Pass)
	if first.isLost() {
		return fmt.Errorf("the holder lost the lock although its own link held")
	}
	if err := first.release(); err != nil {
		return err
	}
	// Either the waiter has continued to wait, and gets the lock, or it was notified.
	if err := <-waited; err != nil && codeOf(err) != "lock-unavailable" {
		return fmt.Errorf("the waiter: %w", err)
	}
	_, _, err = r.served(near, r.Term+slack)
	return err
}

// answerLost: a lock was granted, but the response was lost. The lock must not stay taken
// without a holder.
func answerLost(r *rig) error {
	far := r.far
	limit := r.Term + slack
	if r.Kind == "zookeeper" {
		// The session outlives the lost response, so only a sweep can free the lock.
		far.TTL, limit = 20*time.Second, 4*time.Second
	}
	cutOff, err := r.warm(far, 0)
	if err != nil {
		return err
	}
	near, err := r.warm(r.Subject, 0)
	if err != nil {
		return err
	}
	r.links.each((*servertest.Proxy).HoldAnswers)
	if _, err := r.refused(cutOff); err != nil {
		return err
	}
	r.links.each((*servertest.Proxy).Cut)
	r.links.each((*servertest.Proxy).Pass)
	if _, _, err := r.served(near, limit); err != nil {
		return err
	}
	_, _, err = r.served(cutOff, backMax)
	return err
}

// sessionsKilled: a database ends all sessions. This frees the locks that belong to a
// session, and their holders are notified. A lease in a table is not affected.
func sessionsKilled(r *rig) error {
	_, other, first, err := r.held(r.Subject)
	if err != nil {
		return err
	}
	if err := r.killSessions(); err != nil {
		return err
	}
	if r.Scheme() == "table:" {
		time.Sleep(r.TTL)
		err := mustBeContended(other.WithLock(r.ctx, r.key, nothing))
		if first.isLost() {
			err = errors.Join(err, fmt.Errorf("the holder lost a lease that needs no session"))
		}
		r.note("all sessions killed: the lease stays")
		return errors.Join(err, first.release())
	}
	token, took, err := r.served(other, slack)
	if err != nil {
		return err
	}
	r.note("all sessions killed: free after %.0f ms, token grew", milliseconds(took))
	if err := within(r.ctx, r.TTL/3+slack, first.lost, "the holder is notified"); err != nil {
		return err
	}
	return errors.Join(after(first.token, token), first.release())
}

// killSessions ends every session with the database except its own.
func (r *rig) killSessions() error {
	admin, err := openDatabase(r.ctx, r.Database)
	if err != nil {
		return err
	}
	defer admin.Close()
	conn, err := admin.LockDB().Conn(r.ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	find, kill := `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`, `SELECT pg_terminate_backend(%d)`
	if r.Kind == "mysql" {
		find, kill = `SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()`, `KILL %d`
	}
	rows, err := conn.QueryContext(r.ctx, find)
	if err != nil {
		return err
	}
	defer rows.Close()
	var sessions []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		sessions = append(sessions, id)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, id := range sessions {
		// A session that ended in the meantime is no error.
		_, _ = conn.ExecContext(r.ctx, fmt.Sprintf(kill, id))
	}
	return nil
}
