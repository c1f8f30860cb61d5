package http

import (
	"cmp"
	"context"
	"maps"
	"math"
	nethttp "net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"drawsvc/internal/access"
	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
	"drawsvc/internal/http/packed"
)

// call is one request on its way through a route. Copies of a call refer to the same
// request.
type call struct {
	server *Server
	route  *route
	gin    *gin.Context
	// id names the request in the log and in the answer's headers.
	id    string
	query url.Values
	// caller is the token that admitted the call.
	caller *access.Token
}

// handler answers a call. An error that it returns becomes a problem, or cuts the
// connection if a part of the answer was already sent.
type handler func(c call) error

// readPath decodes and checks the parts of the path, which param returns.
func (c call) readPath() error {
	for i := range c.gin.Params {
		p := &c.gin.Params[i]
		value, err := url.PathUnescape(p.Value)
		switch {
		case err != nil:
			return draw.Errorf(draw.CodeInvalidRequest, "the %s in the path is not percent-encoded", p.Key)
		case p.Key == "item", p.Key == "version":
			if n, failed := strconv.ParseInt(value, 10, 64); failed != nil || n < 1 || value[0] == '+' {
				err = draw.Errorf(draw.CodeInvalidRequest, "the %s in the path must be a whole number above 0", p.Key)
			}
		case p.Key == "user":
			err = draw.CheckUser(value)
		case p.Key != "draw":
			err = draw.CheckID(p.Key+" in the path", value)
		case draw.CheckKey(value) != nil:
			err = draw.Errorf(draw.CodeInvalidRequest, "the draw in the path must be 1 to %d printable ASCII characters", draw.KeyMax)
		}
		if err != nil {
			return err
		}
		p.Value = value
	}
	return nil
}

// actor returns who makes the call: the server's Actor if it is set, otherwise the name
// of the token. Without a token it returns "".
func (c call) actor() string { return cmp.Or(c.server.Actor, c.caller.Name) }

// param returns a part of the path by its name in the route.
func (c call) param(name string) string { return c.gin.Param(name) }

// readQuery reads the query parameters. A parameter that the route does not have, or
// that occurs twice, is rejected. The page of fairness has no parameters, and ignores
// parameters that other sites add to a shared link.
func (r *route) readQuery(raw string) (url.Values, error) {
	if r.path == fairPath {
		return nil, nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the query cannot be read")
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(r.query, name) {
			return nil, draw.Errorf(draw.CodeInvalidRequest, "unknown query parameter %s", draw.Quote(name))
		}
		if len(query[name]) > 1 {
			return nil, draw.Errorf(draw.CodeInvalidRequest, "query parameter %q is there twice", name)
		}
	}
	return query, nil
}

// number returns a query parameter, or the default usual if the caller does not give it.
func (c call) number(name string, least, most, usual int64) (int64, error) {
	values := c.query[name]
	if len(values) == 0 {
		return usual, nil
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || n < least || n > most || values[0][0] == '+' {
		return 0, draw.Errorf(draw.CodeInvalidRequest, "%s must be one whole number from %d to %d", name, least, most)
	}
	return n, nil
}

// word returns a query parameter that must be one of the given words. It returns the
// first word if the parameter is absent.
func (c call) word(name string, words ...string) (string, error) {
	values := c.query[name]
	if len(values) == 0 {
		return words[0], nil
	}
	if !slices.Contains(words, values[0]) {
		return "", draw.Errorf(draw.CodeInvalidRequest, "%s must be one of %s", name, strings.Join(words, ", "))
	}
	return values[0], nil
}

// wordOrNone is like word, for a parameter without a default: it returns "" if the
// parameter is absent.
func (c call) wordOrNone(name string, words ...string) (string, error) {
	if !c.query.Has(name) {
		return "", nil
	}
	return c.word(name, words...)
}

// within returns the request's context, bounded by limit.
func (c call) within(limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.gin.Request.Context(), limit)
}

// wholeLog sets the timeouts of a call that reads a pool's whole log. The work has the
// timeout of an audit, and the answer has 10 seconds more.
func (c call) wholeLog() (context.Context, context.CancelFunc) {
	c.unhurried(c.server.limits.audit + 10*time.Second)
	return c.within(c.server.limits.audit)
}

// version returns the version in the path, which was checked.
func (c call) version() int64 {
	n, _ := strconv.ParseInt(c.param("version"), 10, 64)
	return n
}

// isRead reports whether the call changes nothing.
func (c call) isRead() bool {
	return c.route.method == nethttp.MethodGet || c.route.method == nethttp.MethodHead
}

// role is the role that a call requires, and the role of a token.
type role = access.Role

const (
	roleNone    = gate.None // anyone may call
	roleDraw    = access.Draw
	roleMetrics = access.Metrics
	roleAuditor = access.Auditor
	roleStock   = access.Stock
	roleFulfil  = access.Fulfil
	// roleReader is the required role of the reads that the roles auditor and fulfil may
	// make.
	roleReader = access.Reader
	roleFeed   = access.FeedReader
	roleAdmin  = access.Admin
)

// drawPath and poolDrawPath are the paths of the calls that draw.
const (
	drawPath     = "/draw"
	poolDrawPath = "/pools/:pool/draws"
)

// codesPath is the path of the codes of a prize.
const codesPath = "/admin/pools/:pool/prizes/:prize/codes"

// route is one call of the interface, as data. gin's routes, the labels of the metrics
// and the authorization are made from it.
type route struct {
	method, path string
	// role is the minimum role of the caller's token.
	role role
	// query names the query parameters of the call.
	query []string
	// answers are the media types of the call's answers, the usual one first. If there
	// are none, the call ignores Accept. Calls without media types are probes and
	// scrapes, which must not fail because of a header; files, whose path names their
	// format; and calls without content in the answer.
	answers []string
	// handle answers the call after role, path and query were checked.
	handle handler
}

// draws reports whether the call is a draw, whose problems must state its outcome.
func (r *route) draws() bool { return r.path == drawPath || r.path == poolDrawPath }

// streams reports whether the answer lasts as long as its caller listens.
func (r *route) streams() bool { return r.path == eventsPath }

// probes reports whether machines make the call every few seconds.
func (r *route) probes() bool {
	return slices.Contains([]string{"/livez", "/readyz", "/metrics"}, r.path)
}

const (
	// eventsPath is the path of the stream of events.
	eventsPath = "/admin/events"
	typeEvents = "text/event-stream"
	// eventMax is the maximum time that a caller may take to receive one event.
	eventMax = 10 * time.Second
)

// day returns a query parameter that is a day, or "" if it is not given.
func (c call) day(name string) (string, error) {
	values := c.query[name]
	if len(values) == 0 {
		return "", nil
	}
	return values[0], api.CheckDay(name, values[0])
}

// ifMatch returns the revisions that If-Match names. Without the header it returns nil,
// which allows every revision. For * it returns present, the current revisions. A weak
// tag, or a tag that is not a revision's, matches none.
func ifMatch(h nethttp.Header, present []int64) []int64 {
	lines := h["If-Match"]
	if len(lines) == 0 {
		return nil
	}
	revisions := []int64{}
	for tag := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		tag = packed.PlainTag(strings.TrimSpace(tag))
		if tag == "*" {
			return present
		}
		text, isQuoted := strings.CutPrefix(strings.TrimSuffix(tag, `"`), `"`)
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 && isQuoted && tag == strconv.Quote(strconv.FormatInt(n, 10)) {
			revisions = append(revisions, n)
		}
	}
	return revisions
}

// unmatched is the name in logs and metrics for requests that match no route.
const unmatched = "unmatched"

// unhurried sets the write timeout of the answer to limit, for an answer that may take
// longer.
func (c call) unhurried(limit time.Duration) {
	// It fails for a writer without deadlines, whose answers may take any time.
	_ = nethttp.NewResponseController(c.gin.Writer).SetWriteDeadline(time.Now().Add(limit))
}

// reads returns the handler of a call without a body: it answers with the JSON of do's
// result. The request timeout applies to do.
func reads[Out any](do func(context.Context, call) (Out, error)) handler {
	return func(c call) error {
		// The answer is encoded while the call holds its place among the calls that use the
		// database. The place is given back before the answer is sent, so a slow caller holds
		// none.
		body, err := placed(c, func(ctx context.Context) ([]byte, error) {
			out, err := do(ctx, c)
			if err != nil {
				return nil, err
			}
			return encodeJSON(out)
		})
		if err != nil {
			return err
		}
		return c.writeEncoded(body)
	}
}

// takes is like reads, but for a call whose body is one JSON object.
func takes[In, Out any](do func(context.Context, call, *In) (Out, error)) handler {
	return func(c call) error {
		var in In
		if err := c.server.decode(c.gin.Request, &in); err != nil {
			return err
		}
		return reads(func(ctx context.Context, c call) (Out, error) { return do(ctx, c, &in) })(c)
	}
}

// readPage reads the page of a log that the call requests.
func readPage[E any](
	ctx context.Context, c call, of string,
	read func(ctx context.Context, id string, after int64, limit int) ([]E, error), number func(*E) int64,
) (entries []E, end api.End, err error) {
	after, limit, err := c.pageWanted()
	if err != nil {
		return nil, end, err
	}
	// One more entry than requested is read, to find out whether there is a next page.
	entries, err = read(ctx, c.param(of), after, int(limit)+1)
	isLast := int64(len(entries)) <= limit
	entries = entries[:min(int64(len(entries)), limit)]
	if end.Cursor = after; len(entries) > 0 {
		end.Cursor = number(&entries[len(entries)-1])
	}
	if !isLast {
		end.Next = new(end.Cursor)
	}
	return entries, end, err
}

// pageWanted reads which page of a log is requested.
func (c call) pageWanted() (after, limit int64, err error) {
	if after, err = c.number("after", 0, math.MaxInt64, 0); err != nil {
		return 0, 0, err
	}
	limit, err = c.number("limit", 1, api.PageMax, api.PageUsual)
	return after, limit, err
}
