package http

import (
	"cmp"
	"context"
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
	"drawsvc/internal/http/packed"
	"drawsvc/internal/http/problem"
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

// observe returns gin's handler of a route: it counts, times and logs the requests, and
// turns errors and panics into answers.
func (s *Server) observe(r route, handle handler) gin.HandlerFunc {
	o := s.observed(r)
	return func(g *gin.Context) {
		begin := time.Now()
		c := call{server: s, route: &o.route, gin: g, id: s.requestID(g.Request.Header)}
		if s.traced(&o.route) {
			s.beginSpan(&o.route, g)
		}
		defer c.finish(o, begin)
		h := g.Writer.Header()
		h["Cache-Control"], h["X-Content-Type-Options"] = s.headers.noStore, s.headers.noSniff
		h[requestIDHeader] = []string{c.id}
		if g.Request.TLS != nil {
			h["Strict-Transport-Security"] = s.headers.onlyTLS
		}
		if err := handle(c); err != nil {
			c.fail(err)
		}
	}
}

func noRoute(c call) error {
	c.leaveBody()
	return draw.Errorf(draw.CodeNotFound, "no call has this path")
}

func noMethod(c call) error {
	c.leaveBody()
	return draw.Errorf(problem.CodeMethodNotAllowed, "the Allow header lists the methods of this path")
}

// checked handles a call after its route's checks. A call that they refuse is answered
// without reading its body.
func checked(c call) error {
	if err := c.check(); err != nil {
		c.leaveBody()
		return err
	}
	if pool := c.param("pool"); pool != "" {
		c.spanPool(pool)
		if !c.isRead() && !c.route.draws() {
			defer c.server.dropCopies(pool) // the pool may have changed, even if the call failed
		}
	}
	return c.route.handle(c)
}

// check makes the checks of the call's route: the token first, so that a caller without
// a token gets no further information, then Accept, the path and the query.
func (c *call) check() error {
	var err error
	if c.caller, err = c.server.gate.Admit(c.route.role, c.gin.Request); err != nil {
		return err
	}
	if err := c.route.checkAccept(c.gin.Request.Header); err != nil {
		return err
	}
	if err := c.readPath(); err != nil {
		return err
	}
	if !c.route.draws() { // the log line of a draw has neither actor nor pool
		c.gin.Set(admittedKey{}, admitted{c.caller.Name, c.param("pool")})
	}
	if c.gin.Request.URL.RawQuery != "" {
		c.query, err = c.route.readQuery(c.gin.Request.URL.RawQuery)
	}
	return err
}

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
