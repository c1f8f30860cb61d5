package problem

import (
	"context"
	"errors"
	nethttp "net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// The codes that occur only in the HTTP interface, not in the domain.
const (
	CodeUnauthorized         draw.Code = "unauthorized"
	CodeMethodNotAllowed     draw.Code = "method-not-allowed"
	CodeNotAcceptable        draw.Code = "not-acceptable"
	CodeRequestTimeout       draw.Code = "request-timeout"
	CodeUnsupportedMediaType draw.Code = "unsupported-media-type"
	CodeTooManyGuesses       draw.Code = "too-many-guesses"
)

// Type followed by a code is the type of a problem, and the path of the call that
// explains it.
const Type = "/problems/"

// Problem is the answer for one code.
type Problem struct {
	Status int
	Title  string
	// RetryAfter is the Retry-After header in seconds, the maximum if it varies; "" for
	// none.
	RetryAfter string
	// Unknown means that a draw with this answer may have happened.
	Unknown bool
}

// Table returns the answer for each code. It is the only table of problems. A code that
// is not in it is answered as internal.
func Table() map[draw.Code]Problem {
	return map[draw.Code]Problem{
		draw.CodeInvalidRequest:    {Status: 400, Title: "Invalid request"},
		CodeUnauthorized:           {Status: 401, Title: "Unauthorized"},
		draw.CodeForbidden:         {Status: 403, Title: "Forbidden"},
		draw.CodeTicketRequired:    {Status: 403, Title: "Ticket required"},
		draw.CodeTicketExpired:     {Status: 403, Title: "Ticket expired"},
		draw.CodeTicketInvalid:     {Status: 403, Title: "Ticket not valid"},
		draw.CodePoolNotFound:      {Status: 404, Title: "Pool not found"},
		draw.CodePrizeNotFound:     {Status: 404, Title: "Prize not found"},
		draw.CodeDrawNotFound:      {Status: 404, Title: "Draw not found"},
		draw.CodeJobNotFound:       {Status: 404, Title: "Job not found"},
		draw.CodeHookNotFound:      {Status: 404, Title: "Hook not found"},
		draw.CodeAgendaDone:        {Status: 409, Title: "Item done"},
		draw.CodeNotFound:          {Status: 404, Title: "Not found"},
		CodeMethodNotAllowed:       {Status: 405, Title: "Method not allowed"},
		CodeNotAcceptable:          {Status: 406, Title: "Not acceptable"},
		CodeRequestTimeout:         {Status: 408, Title: "Request timeout"},
		draw.CodeLimitReached:      {Status: 409, Title: "Limit reached"},
		draw.CodeUserBlocked:       {Status: 409, Title: "User blocked"},
		draw.CodeUserNotCounted:    {Status: 409, Title: "User not counted"},
		draw.CodeSoldOut:           {Status: 409, Title: "Sold out"},
		draw.CodePoolNotOpen:       {Status: 409, Title: "Pool not open"},
		draw.CodePaused:            {Status: 503, Title: "Pool paused", RetryAfter: "60"},
		draw.CodePoolClosed:        {Status: 409, Title: "Pool closed"},
		draw.CodePoolOpen:          {Status: 409, Title: "Pool open"},
		draw.CodePoolCommitted:     {Status: 409, Title: "Pool committed"},
		draw.CodeRoundNotAnnounced: {Status: 409, Title: "Round not announced"},
		draw.CodeSeedsSpent:        {Status: 409, Title: "Seeds spent"},
		draw.CodeLogForked:         {Status: 409, Title: "Log forked"},
		draw.CodeFeedForked:        {Status: 409, Title: "Feed forked"},
		draw.CodeAlreadyIssued:     {Status: 409, Title: "Already issued"},
		draw.CodePoolExists:        {Status: 409, Title: "Pool already exists"},
		draw.CodePrizeExists:       {Status: 409, Title: "Prize already exists"},
		draw.CodeStockBelowIssued:  {Status: 409, Title: "Stock below issued"},
		draw.CodeCodesMissing:      {Status: 409, Title: "Codes missing"},
		draw.CodePrizeHasNoCodes:   {Status: 409, Title: "Prize has no codes"},
		draw.CodeSealKeyMissing:    {Status: 503, Title: "Seal key missing", RetryAfter: "10"},
		draw.CodeAwardNotFound:     {Status: 404, Title: "Award not found"},
		draw.CodeCodeShown:         {Status: 409, Title: "Code shown"},
		draw.CodeCodeNotOpen:       {Status: 409, Title: "Code not open"},
		draw.CodeClaimExpired:      {Status: 409, Title: "Claim expired"},
		draw.CodeNothingToClaim:    {Status: 409, Title: "Nothing to claim"},
		draw.CodeAwardEnded:        {Status: 409, Title: "Award ended"},
		draw.CodeAwardNotFulfilled: {Status: 409, Title: "Award not fulfilled"},
		draw.CodeJobRunning:        {Status: 409, Title: "Job running"},
		draw.CodeChangedMeanwhile:  {Status: 412, Title: "Changed meanwhile"},
		draw.CodeRulesChanged:      {Status: 412, Title: "Rules changed"},
		api.CodeBodyTooLarge:       {Status: 413, Title: "Body too large"},
		CodeUnsupportedMediaType:   {Status: 415, Title: "Unsupported media type"},
		draw.CodeKeyReused:         {Status: 422, Title: "Idempotency key reused"},
		CodeTooManyGuesses:         {Status: 429, Title: "Too many wrong tokens", RetryAfter: "10"},
		draw.CodeInternal:          {Status: 500, Title: "Internal error", Unknown: true},
		draw.CodeContended:         {Status: 503, Title: "Pool contended", RetryAfter: "1"},
		draw.CodeOverloaded:        {Status: 503, Title: "Overloaded", RetryAfter: "1"},
		draw.CodeStoreUnavailable:  {Status: 503, Title: "Database unavailable", RetryAfter: "2"},
		draw.CodeLockUnavailable:   {Status: 503, Title: "Lock service unavailable", RetryAfter: "2"},
		draw.CodeSeedUnavailable:   {Status: 503, Title: "Seed unavailable", RetryAfter: "10"},
		draw.CodeRulesUnreadable:   {Status: 503, Title: "Rules unreadable", RetryAfter: "10"},
		draw.CodeClockLeapt:        {Status: 503, Title: "Clock leapt", RetryAfter: "10"},
		draw.CodeDraining:          {Status: 503, Title: "Shutting down", RetryAfter: "2"},
		draw.CodeOutcomeUnknown:    {Status: 504, Title: "Outcome unknown", Unknown: true},
	}
}

// Named returns an error with a code, and with a detail that the caller may read: err
// itself if it has a code. If a call that writes has timed out, the code states that its
// outcome is unknown.
func Named(method string, err error) *draw.Error {
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

// RetryAfter returns the Retry-After header of an answer, "" for none: that of the
// error, or that of its code.
func RetryAfter(p Problem, e *draw.Error) string {
	if e.RetryAfter <= 0 {
		return p.RetryAfter
	}
	return strconv.FormatInt(int64((e.RetryAfter+time.Second-1)/time.Second), 10)
}

// Append adds the document of a problem. outcome is the outcome of a draw, "" for other
// calls.
func Append(b []byte, p Problem, e *draw.Error, outcome string) []byte {
	b = append(b, `{"type":"`+Type...)
	b = append(b, e.Code...)
	b = append(b, `","title":"`...)
	b = append(b, p.Title...)
	b = append(b, `","status":`...)
	b = strconv.AppendInt(b, int64(p.Status), 10)
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
	if e.Ended != nil {
		b = append(append(b, `,"state":"`...), e.Ended.State...)
		b = append(draw.AppendTime(append(b, `","since":"`...), e.Ended.Since), '"')
	}
	if e.Line != nil {
		b = strconv.AppendInt(append(b, `,"line":`...), int64(e.Line.Line), 10)
		b = strconv.AppendInt(append(b, `,"written":`...), int64(e.Line.Written), 10)
	}
	if f := e.Fork; f != nil {
		b = append(b, `,"pool":`...)
		b, _ = jsontext.AppendQuote(b, f.PoolID)
		b = strconv.AppendInt(append(b, `,"version":`...), f.Version, 10)
	}
	if e.Notice != "" {
		b = append(b, `,"notice":`...)
		b, _ = jsontext.AppendQuote(b, e.Notice)
	}
	return append(b, "}\n"...)
}

// appendReached adds the members of a reached limit to a problem.
func appendReached(b []byte, r *draw.Reached) []byte {
	limit, _ := json.Marshal(api.ShowLimit(&r.Limit)) // strings and a number: cannot fail
	b = append(b, `,"limit":`...)
	b = append(b, limit...)
	if r.RetryAt.IsZero() {
		return append(b, `,"retry_at":null`...)
	}
	b = append(b, `,"retry_at":"`...)
	b = append(b, api.ShowTime(r.RetryAt)...)
	return append(b, '"')
}
