package http

import (
	"context"
	"errors"
	nethttp "net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// The codes that only the wire knows.
const (
	codeUnauthorized         draw.Code = "unauthorized"
	codeMethodNotAllowed     draw.Code = "method-not-allowed"
	codeNotAcceptable        draw.Code = "not-acceptable"
	codeRequestTimeout       draw.Code = "request-timeout"
	codeUnsupportedMediaType draw.Code = "unsupported-media-type"
	codeTooManyGuesses       draw.Code = "too-many-guesses"
)

// problemType and a code are the type of a problem, where GET explains it.
const problemType = "/problems/"

// problem is one code on the wire.
type problem struct {
	status int
	title  string
	// retryAfter is the Retry-After header in seconds, the most where it differs; "" for
	// none.
	retryAfter string
	// unknown says that a draw answered so may have happened.
	unknown bool
}

// problems is the one table from codes to answers. A code that is not in it
// is answered as internal.
func problems() map[draw.Code]problem {
	return map[draw.Code]problem{
		draw.CodeInvalidRequest:    {status: 400, title: "Invalid request"},
		codeUnauthorized:           {status: 401, title: "Unauthorized"},
		draw.CodeForbidden:         {status: 403, title: "Forbidden"},
		draw.CodeTicketRequired:    {status: 403, title: "Ticket required"},
		draw.CodeTicketExpired:     {status: 403, title: "Ticket expired"},
		draw.CodeTicketInvalid:     {status: 403, title: "Ticket not valid"},
		draw.CodePoolNotFound:      {status: 404, title: "Pool not found"},
		draw.CodePrizeNotFound:     {status: 404, title: "Prize not found"},
		draw.CodeDrawNotFound:      {status: 404, title: "Draw not found"},
		draw.CodeJobNotFound:       {status: 404, title: "Job not found"},
		draw.CodeAgendaDone:        {status: 409, title: "Item done"},
		draw.CodeNotFound:          {status: 404, title: "Not found"},
		codeMethodNotAllowed:       {status: 405, title: "Method not allowed"},
		codeNotAcceptable:          {status: 406, title: "Not acceptable"},
		codeRequestTimeout:         {status: 408, title: "Request timeout"},
		draw.CodeLimitReached:      {status: 409, title: "Limit reached"},
		draw.CodeUserBlocked:       {status: 409, title: "User blocked"},
		draw.CodeUserNotCounted:    {status: 409, title: "User not counted"},
		draw.CodeSoldOut:           {status: 409, title: "Sold out"},
		draw.CodePoolNotOpen:       {status: 409, title: "Pool not open"},
		draw.CodePaused:            {status: 503, title: "Pool paused", retryAfter: "60"},
		draw.CodePoolClosed:        {status: 409, title: "Pool closed"},
		draw.CodePoolOpen:          {status: 409, title: "Pool open"},
		draw.CodePoolCommitted:     {status: 409, title: "Pool committed"},
		draw.CodeRoundNotAnnounced: {status: 409, title: "Round not announced"},
		draw.CodeSeedsSpent:        {status: 409, title: "Seeds spent"},
		draw.CodeLogForked:         {status: 409, title: "Log forked"},
		draw.CodeAlreadyIssued:     {status: 409, title: "Already issued"},
		draw.CodePoolExists:        {status: 409, title: "Pool already exists"},
		draw.CodePrizeExists:       {status: 409, title: "Prize already exists"},
		draw.CodeStockBelowIssued:  {status: 409, title: "Stock below issued"},
		draw.CodeCodesMissing:      {status: 409, title: "Codes missing"},
		draw.CodePrizeHasNoCodes:   {status: 409, title: "Prize has no codes"},
		draw.CodeSealKeyMissing:    {status: 503, title: "Seal key missing", retryAfter: "10"},
		draw.CodeJobRunning:        {status: 409, title: "Job running"},
		draw.CodeChangedMeanwhile:  {status: 412, title: "Changed meanwhile"},
		draw.CodeRulesChanged:      {status: 412, title: "Rules changed"},
		api.CodeBodyTooLarge:       {status: 413, title: "Body too large"},
		codeUnsupportedMediaType:   {status: 415, title: "Unsupported media type"},
		draw.CodeKeyReused:         {status: 422, title: "Idempotency key reused"},
		codeTooManyGuesses:         {status: 429, title: "Too many wrong tokens", retryAfter: "10"},
		draw.CodeInternal:          {status: 500, title: "Internal error", unknown: true},
		draw.CodeContended:         {status: 503, title: "Pool contended", retryAfter: "1"},
		draw.CodeOverloaded:        {status: 503, title: "Overloaded", retryAfter: "1"},
		draw.CodeStoreUnavailable:  {status: 503, title: "Database unavailable", retryAfter: "2"},
		draw.CodeLockUnavailable:   {status: 503, title: "Lock service unavailable", retryAfter: "2"},
		draw.CodeSeedUnavailable:   {status: 503, title: "Seed unavailable", retryAfter: "10"},
		draw.CodeRulesUnreadable:   {status: 503, title: "Rules unreadable", retryAfter: "10"},
		draw.CodeClockLeapt:        {status: 503, title: "Clock leapt", retryAfter: "10"},
		draw.CodeDraining:          {status: 503, title: "Shutting down", retryAfter: "2"},
		draw.CodeOutcomeUnknown:    {status: 504, title: "Outcome unknown", unknown: true},
	}
}

// named gives an error that nobody named a code and a detail fit for the
// caller. Time that ran out is unknown for a call that writes.
func named(method string, err error) *draw.Error {
	if e, ok := errors.AsType[*draw.Error](err); ok {
		return e
	}
	late := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	switch {
	case late && (method == nethttp.MethodGet || method == nethttp.MethodHead):
		return draw.Wrap(draw.CodeStoreUnavailable, err, "the answer did not come in time")
	case late:
		return draw.Wrap(draw.CodeOutcomeUnknown, err, "the answer did not come in time; the same Idempotency-Key settles it")
	}
	return draw.WrapInternal(err, "the service failed; its log says why")
}

// fail answers with the problem that err stands for. The cause is kept for the
// log. An answer that has begun is cut: it must not look like a whole one.
func (c call) fail(err error) {
	s, g := c.server, c.gin
	api.KeepFailure(g.Request, err)
	e := named(g.Request.Method, err)
	p, known := s.problems[e.Code]
	if !known {
		e = &draw.Error{Code: draw.CodeInternal, Detail: "the service failed; its log says why", Err: err}
		p = s.problems[draw.CodeInternal]
	}
	_ = g.Error(e) // for the request log
	if g.Writer.Written() {
		panic(nethttp.ErrAbortHandler)
	}
	h := g.Writer.Header()
	h["Content-Type"] = []string{"application/problem+json"}
	if after := retryAfter(p, e); after != "" {
		h["Retry-After"] = []string{after}
	}
	if e.Code == codeUnauthorized {
		h.Set("WWW-Authenticate", challenge(g.Request.Header))
	}
	if e.Code == draw.CodeDraining {
		h.Set("Connection", "close") // the next attempt should meet another instance
	}
	if e.Code == api.CodeBodyTooLarge || e.Code == codeUnsupportedMediaType || e.Code == codeRequestTimeout {
		c.leaveBody()
	}
	out := s.buffer()
	defer s.buffers.Put(out)
	*out = appendProblem((*out)[:0], p, e, c.outcome(p, e))
	if c.leavesBody() { // sent before the handler ends, so that its length is not known by itself
		c.write(p.status, *out)
		return
	}
	c.writeShort(p.status, *out)
}

const (
	// reachedDrawer is set of a draw that failed after the drawer had it. What the log
	// says of its key is then in the error.
	reachedDrawer = "reached-drawer"
	// mayHaveKey is set of a draw that failed before, and whose body was asked for:
	// whether the draw may have a key.
	mayHaveKey = "may-have-key"
)

// outcome returns what is known of a draw that is refused: none is a statement about the
// log. A draw with a key that is refused before the log was asked may have been made by
// an earlier request. It is empty for calls that do not draw.
func (c call) outcome(p problem, e *draw.Error) string {
	switch {
	case !c.route.draws():
		return ""
	case p.unknown, e.KeyUnasked, !c.gin.GetBool(reachedDrawer) && c.mayHaveKey():
		return "unknown"
	}
	return "none"
}

func (c call) mayHaveKey() bool {
	if may, isRead := c.gin.Get(mayHaveKey); isRead {
		return may.(bool)
	}
	return c.server.mayHaveKey(c.gin.Request.Header)
}

// mayHaveKey reports whether a draw may have a key, where its header is all that was
// read: the body may hold a ticket, which has one.
func (s *Server) mayHaveKey(h nethttp.Header) bool {
	return len(h[keyHeader]) > 0 || s.Tickets.AreTaken()
}

// retryAfter is the Retry-After header of an answer, "" for none: what the error says,
// or what its code has.
func retryAfter(p problem, e *draw.Error) string {
	if e.RetryAfter <= 0 {
		return p.retryAfter
	}
	return strconv.FormatInt(int64((e.RetryAfter+time.Second-1)/time.Second), 10)
}

func appendProblem(b []byte, p problem, e *draw.Error, outcome string) []byte {
	b = append(b, `{"type":"`+problemType...)
	b = append(b, e.Code...)
	b = append(b, `","title":"`...)
	b = append(b, p.title...)
	b = append(b, `","status":`...)
	b = strconv.AppendInt(b, int64(p.status), 10)
	b = append(b, `,"detail":`...)
	b, _ = jsontext.AppendQuote(b, e.Detail) // invalid UTF-8 becomes U+FFFD
	b = append(b, `,"code":"`...)
	b = append(b, e.Code...)
	b = append(b, '"')
	if outcome != "" {
		b = append(append(append(b, `,"outcome":"`...), outcome...), '"')
	}
	if e.Reached != nil {
		b = appendReached(b, e.Reached)
	}
	if e.Notice != "" {
		b = append(b, `,"notice":`...)
		b, _ = jsontext.AppendQuote(b, e.Notice)
	}
	return append(b, "}\n"...)
}

func noRoute(c call) error {
	c.leaveBody()
	return draw.Errorf(draw.CodeNotFound, "no call has this path")
}

func noMethod(c call) error {
	c.leaveBody()
	return draw.Errorf(codeMethodNotAllowed, "the Allow header lists the methods of this path")
}
