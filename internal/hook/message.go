package hook

import (
	"bytes"
	"time"

	"drawsvc/internal/draw"
)

const (
	// EventsMax is the maximum number of events of a message. The events of one entry are
	// never divided, even if they exceed it.
	EventsMax = 100
	// BodyMax is the maximum length of a message, in bytes, unless one entry exceeds it.
	BodyMax = 20_000
)

// Page is a part of a pool's events.
type Page struct {
	Events []Event
	// Last is the id of the place at which the page starts, "" for none.
	Last string
	// To is the place up to which these events are complete, and ToID its id; see [PlaceID].
	To   Place
	ToID string
	// Head is the pool's version, and the number of its last step.
	Head Place
	// ids are the ids of the page's places.
	ids map[Place]string
}

// Note adds a place to the page, with its id, and the events of the entry or step there.
func (p *Page) Note(at Place, id string, events ...Event) {
	if p.ids == nil {
		p.ids = map[Place]string{}
	}
	for _, e := range events {
		e.At = at
		p.Events = append(p.Events, e)
	}
	p.ids[at], p.To, p.ToID = id, at, id
}

// Cut returns the events of a page that pass a filter and fit into one message. It also
// returns the place up to which these are complete.
func Cut(p *Page, f *Filter) (events []Event, to Place, toID string) {
	size := len(head("", time.Time{})) + len(tail)
	for i := 0; i < len(p.Events); {
		next, wanted, more := i, []Event{}, 0
		for ; next < len(p.Events) && p.Events[next].At == p.Events[i].At; next++ {
			if f.Wants(&p.Events[next]) {
				wanted, more = append(wanted, p.Events[next]), more+len(p.Events[next].Body)+1
			}
		}
		if len(events) > 0 && (len(events)+len(wanted) > EventsMax || size+more > BodyMax) {
			to = p.Events[i-1].At
			return events, to, p.ids[to]
		}
		events, size, i = append(events, wanted...), size+more, next
	}
	return events, p.To, p.ToID
}

const tail = "]}}"

func head(poolID string, at time.Time) []byte {
	return []byte(`{"type":"pool.events","timestamp":"` + at.UTC().Format(draw.TimeFormat) + `","data":{"pool":"` + poolID + `","events":[`)
}

// Body returns the body of a message with events of a pool. Its time is the time of the
// last event, so that every attempt sends the same bytes.
func Body(poolID string, events []Event, at time.Time) []byte {
	b := bytes.NewBuffer(head(poolID, at))
	for i := range events {
		if i > 0 {
			_ = b.WriteByte(',')
		}
		_, _ = b.Write(events[i].Body)
	}
	_, _ = b.WriteString(tail)
	return b.Bytes()
}

// TestBody returns the body of a test.
func TestBody(at time.Time) []byte {
	return []byte(`{"type":"hook.test","timestamp":"` + at.UTC().Format(draw.TimeFormat) + `","data":{"events":[]}}`)
}
