package hook

import "time"

// Cursor is the place that a hook has reached among the events of a pool.
type Cursor struct {
	HookID, PoolID string
	// IsStored reports whether the database has a row for the cursor. A pool that is newer
	// than the hook has no row before its first event.
	IsStored bool
	// At is the place up to which the receiver has accepted all events. Last is the id of
	// that place.
	At   Place
	Last string
	// Message is the id of the message under way, "" for none. To is the last place that the
	// message covers, and ToID is the id of that place.
	Message string
	To      Place
	ToID    string
	// Attempts counts the failed attempts of the message. NextAt is when the next attempt is
	// due.
	Attempts int
	NextAt   time.Time
	// IsForked means that the history no longer contains the entry, or the step, at At.
	IsForked bool
	// Answer is the receiver's last answer.
	Answer Answer
}

// Passed returns the cursor after its message was accepted or skipped.
func (c Cursor) Passed() Cursor {
	c.At, c.Last = c.To, c.ToID
	c.Message, c.To, c.ToID, c.Attempts, c.NextAt = "", Place{}, "", 0, time.Time{}
	return c
}

// MovedTo returns the cursor at a place, without a message.
func (c Cursor) MovedTo(at Place, id string) Cursor {
	c.To, c.ToID = at, id
	return c.Passed()
}

// Begun returns the cursor with a message under way.
func (c Cursor) Begun(message string, to Place, id string) Cursor {
	c.Message, c.To, c.ToID = message, to, id
	return c
}

// Failed returns the cursor after a failed attempt. isLast reports whether that was the
// last attempt. part spreads the wait; see [WaitAfter].
func (c Cursor) Failed(now time.Time, a Answer, part float64) (after Cursor, isLast bool) {
	wait, ok := WaitAfter(c.Attempts+1, a.RetryAfter, part)
	c.Attempts, c.NextAt = c.Attempts+1, now.Add(wait)
	return c, !ok
}
