package http

import (
	"time"
)

// limits bound the time and size of every connection.
type limits struct {
	header, read, write, idle time.Duration
	// draws is the maximum wait at shutdown for draws under way. rest is the maximum wait
	// for everything else after that. Together they are below the 15 s that operators are
	// promised.
	draws, rest time.Duration
	// linger is how long the rest of a body is read after the answer.
	linger time.Duration
	// audit is the timeout of an audit. page is the time for sending the first page of an
	// export, and pace the additional time for each further page.
	audit, page, pace time.Duration
}

// headerBytesMax is the maximum size of the request line and headers; net/http adds 4
// KiB.
const headerBytesMax = 16 << 10

func defaultLimits(request time.Duration) limits {
	return limits{
		header: 5 * time.Second,
		read:   10 * time.Second,
		// The write timeout begins at the end of the headers: it covers the body, the
		// work and the answer.
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
