package http

import (
	"time"
)

// limits bound the time and size of every connection.
type limits struct {
	header, read, write, idle time.Duration
	// draws is the longest wait for draws under way when the service ends,
	// rest the longest for everything else after them. Together they stay
	// below the 15 s that an operator is promised.
	draws, rest time.Duration
	// linger is how long what is left of a body is read after the answer.
	linger time.Duration
	// audit bounds an audit, page the sending of the first page of an export, and
	// pace is what each further page adds for those behind it.
	audit, page, pace time.Duration
}

// headerBytesMax bounds the request line and headers; net/http adds 4 KiB.
const headerBytesMax = 16 << 10

func defaultLimits(request time.Duration) limits {
	return limits{
		header: 5 * time.Second,
		read:   10 * time.Second,
		// The write timeout runs from the end of the headers: it spans the
		// body, the work and the answer.
		write:  request + 20*time.Second,
		idle:   2 * time.Minute,
		draws:  9500 * time.Millisecond,
		rest:   4 * time.Second,
		linger: 2 * time.Second,
		audit:  max(request, time.Minute),
		page:   30 * time.Second,
		pace:   2 * time.Second,
	}
}
