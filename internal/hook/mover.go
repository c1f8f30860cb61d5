package hook

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// mover moves one cursor.
type mover struct {
	*sending
	hook *Hook
	// stored is the cursor in the database. events are the events of its message.
	stored Cursor
	events []Event
}

// step sends one message, or begins one. goesOn reports whether step must be called
// again. Unless isMore is set, it begins no further message.
func (m *mover) step(ctx context.Context, isMore bool) (goesOn bool, err error) {
	if m.stored.Message == "" {
		next, hasMore, err := m.prepare(ctx, m.stored)
		if err != nil || !m.isChanged(&next) {
			return false, err
		}
		moved, err := m.move(ctx, next)
		return moved && err == nil && isMore && !next.IsForked && (hasMore || next.Message != ""), err
	}
	if m.events == nil {
		page, err := m.read(ctx, m.stored.At, m.stored.To)
		if err != nil {
			return false, err
		}
		if isForked(&m.stored, &page) || page.To != m.stored.To || page.ToID != m.stored.ToID {
			_, err := m.move(ctx, m.forked(m.stored))
			return false, err
		}
		m.events, _, _ = Cut(&page, &m.hook.Filter)
	}
	answer := m.send(ctx)
	//double:hasty-relay !answer.IsAccepted() => false
	if !answer.IsAccepted() {
		if !isEnding(ctx) { // after the end of ctx, another relay sends the message again
			err = m.fail(ctx, answer)
		}
		return false, err
	}
	return m.pass(ctx, answer, isMore)
}

func isEnding(ctx context.Context) bool { return ctx.Err() != nil }

// send makes one attempt.
func (m *mover) send(ctx context.Context) Answer {
	now := m.Now()
	at := now
	if n := len(m.events); n > 0 {
		at = m.events[n-1].Time
	}
	answer := m.Sender.Send(ctx, m.hook, m.stored.Message, Body(m.stored.PoolID, m.events, at), now)
	if ctx.Err() == nil {
		m.Observer.Attempted(m.hook.ID, &answer)
	}
	return answer
}

// pass moves the cursor past an accepted message, and begins the next message in the
// same write.
func (m *mover) pass(ctx context.Context, answer Answer, isMore bool) (goesOn bool, err error) {
	passed := m.stored.Passed()
	passed.Answer = answer
	next, hasMore := passed, false
	if isMore {
		if found, more, err := m.prepare(ctx, passed); err == nil {
			next, hasMore = found, more
		}
	}
	m.note(m.hook, StateOn, "")
	moved, err := m.move(ctx, next)
	return moved && err == nil && isMore && !next.IsForked && (hasMore || next.Message != ""), err
}

// fail stores a failed attempt.
func (m *mover) fail(ctx context.Context, answer Answer) error {
	next, isLast := m.stored.Failed(m.Now(), answer, jitter())
	next.Answer = answer
	if _, err := m.move(ctx, next); err != nil {
		return err
	}
	why := WhyExhausted
	if answer.Status == http.StatusGone {
		why = WhyGone
	} else if !isLast {
		m.note(m.hook, StateFailing, answer.Error)
		return nil
	}
	m.note(m.hook, StateOff, string(why))
	bounded, end := context.WithTimeout(ctx, readMax)
	defer end()
	return m.Feed.EndHook(bounded, m.hook.ID, m.hook.Revision, why)
}

// prepare gets a cursor without a message, and reads the next events. It returns the
// cursor with a new message, or moved past entries without wanted events. m keeps the
// message's events.
func (m *mover) prepare(ctx context.Context, c Cursor) (next Cursor, hasMore bool, err error) {
	page, err := m.read(ctx, c.At, Place{})
	if err != nil {
		return c, false, err
	}
	if isForked(&c, &page) {
		return m.forked(c), false, nil
	}
	events, to, id := Cut(&page, &m.hook.Filter)
	hasMore = to != page.Head
	if len(events) == 0 {
		return c.MovedTo(to, id), hasMore, nil
	}
	m.events = events
	return c.Begun(NewMessageID(), to, id), hasMore, nil
}

// isForked reports whether the entry or the step at a cursor no longer exists. A cursor
// before its first event names no entry.
func isForked(c *Cursor, p *Page) bool {
	//double:passes-forks p.Head.Version < c.At.Version || p.Head.Step < c.At.Step || c.Last != "" && c.Last != p.Last => p == nil && c == nil
	return p.Head.Version < c.At.Version || p.Head.Step < c.At.Step || c.Last != "" && c.Last != p.Last
}

// forked returns the cursor as forked: it waits for a replay.
func (m *mover) forked(c Cursor) Cursor {
	m.note(m.hook, StateForked, ShowFork(&c))
	c.IsForked = true
	return c
}

// ShowFork describes the place where a history has changed.
func ShowFork(c *Cursor) string {
	where := "version " + strconv.FormatInt(c.At.Version, 10)
	if c.At.Step > 0 {
		where += " or step " + strconv.FormatInt(c.At.Step, 10)
	}
	return "pool " + c.PoolID + " has another entry, or none, at " + where
}

// isChanged reports whether there is something to write.
func (m *mover) isChanged(next *Cursor) bool { return *next != m.stored }

// read reads a page. The number of concurrent reads is bounded.
func (m *mover) read(ctx context.Context, after, upTo Place) (Page, error) {
	select {
	case m.reads <- struct{}{}:
	case <-ctx.Done():
		return Page{}, ctx.Err()
	}
	defer func() { <-m.reads }()
	bounded, end := context.WithTimeout(ctx, readMax)
	defer end()
	return m.Feed.ReadPage(bounded, m.stored.PoolID, after, upTo)
}

// move writes the cursor, unless somebody else has moved it or changed the hook. It
// reports whether it wrote.
func (m *mover) move(ctx context.Context, next Cursor) (moved bool, err error) {
	// If a receiver has accepted a message, that is written even while the relay stops.
	bounded, end := context.WithTimeout(context.WithoutCancel(ctx), moveMax)
	defer end()
	moved, err = m.Feed.MoveCursor(bounded, m.hook.Revision, &m.stored, &next)
	if moved && err == nil {
		if next.Message == "" {
			m.events = nil
		}
		next.IsStored = true
		m.stored = next
	}
	return moved, err
}

// moveMax bounds the write of a cursor.
const moveMax = 5 * time.Second
