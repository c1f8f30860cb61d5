package stocktest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"
)

// Moody passes messages to a receiver. Unless IsCalm is set, it sometimes fails, drops
// the connection after a message, or answers late.
type Moody struct {
	*Receiver
	IsCalm bool
	n      atomic.Int64
}

// ServeHTTP implements http.Handler.
func (m *Moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m.IsCalm {
		m.Receiver.ServeHTTP(w, r)
		return
	}
	switch m.n.Add(1) % 7 {
	case 1:
		w.WriteHeader(http.StatusInternalServerError)
		return
	case 3: // the receiver gets the message, but the relay gets no answer
		m.Receiver.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case 5:
		time.Sleep(150 * time.Millisecond)
	}
	m.Receiver.ServeHTTP(w, r)
}

// JudgeFirsts reports the faults in the events of a pool whose awards have the given
// versions and whose steps have the given numbers. Faults are a gap, a wrong order, a
// step before its award, and repeated events with different ids.
func JudgeFirsts(events []Received, versions, steps []int64) (faults []string) {
	type place struct{ version, step int64 }
	ids, awards := map[place]string{}, map[int64]bool{}
	for _, e := range events {
		at, next := place{e.Version, e.Step}, &versions
		if e.Step > 0 {
			next = &steps
		}
		id, isDouble := ids[at]
		switch {
		case isDouble && id == e.ID:
			continue
		case isDouble:
			return append(faults, fmt.Sprintf("the event of %+v came again with another id", at))
		case len(*next) == 0 || (*next)[0] != max(e.Version, e.Step):
			return append(faults, fmt.Sprintf("the event of %+v came instead of the first of %d", at, len(*next)))
		case e.Step > 0 && !awards[e.Award]:
			return append(faults, fmt.Sprintf("step %d came before its award, version %d", e.Step, e.Award))
		}
		ids[at], awards[e.Version], *next = e.ID, true, (*next)[1:]
	}
	if left := len(versions) + len(steps); left > 0 {
		faults = append(faults, fmt.Sprintf("%d of %d events did not arrive", left, left+len(ids)))
	}
	return faults
}
