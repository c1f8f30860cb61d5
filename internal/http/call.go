package http

import (
	"cmp"
	"context"
	"maps"
	nethttp "net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"drawsvc/internal/api"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"drawsvc/internal/access"
	"drawsvc/internal/draw"
)

// Server answers the calls. It serves once: after Serve has returned, or
// while it drains, new draws are refused.
type Server struct {
	Config
	engine *gin.Engine
	// handler is the engine, or in tests what checks its answers.
	handler  nethttp.Handler
	gate     *gate
	refusals *refusals
	ids      ids
	problems map[draw.Code]problem
	metrics  metrics
	limits   limits
	bounds   bounds
	// copies are of pools, odds of their odds.
	copies, odds *copies
	connections  *connections
	readiness    *readiness
	// draining says that the service is shutting down.
	draining atomic.Bool
	// streaming ends, by endStreams, when the service begins to shut down:
	// whoever listens finds another instance.
	streaming  context.Context
	endStreams context.CancelFunc
	strict     json.Options
	headers    headers
	// buffers holds *[]byte, for bodies and answers.
	buffers sync.Pool
	// gzips holds *gzip.Writer.
	gzips sync.Pool
}

// call is one request on its way through a route. It is a handle: copies are
// of the same request.
type call struct {
	server *Server
	route  *route
	gin    *gin.Context
	// id names the request in the log and in the answer's headers.
	id    string
	query url.Values
	// caller is the token that let the call in.
	caller *access.Token
}

// handler answers a call. An error that it returns becomes a problem, or cuts
// the connection where a part of the answer was sent already.
type handler func(c call) error

// reads is the handler of a call without a body: it answers with the JSON of
// what do returns. The request timeout bounds do.
func reads[Out any](do func(context.Context, call) (Out, error)) handler {
	return func(c call) error {
		ctx, cancel := c.within(c.server.RequestTimeout)
		defer cancel()
		// Encoded in the place of the database, which is given back before the answer is
		// sent: a slow caller holds none.
		body, err := placed(ctx, c, func() ([]byte, error) {
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

// takes is reads for a call with a body, one JSON object.
func takes[In, Out any](do func(context.Context, call, *In) (Out, error)) handler {
	return func(c call) error {
		var in In
		if err := c.server.decode(c.gin.Request, &in); err != nil {
			return err
		}
		return reads(func(ctx context.Context, c call) (Out, error) { return do(ctx, c, &in) })(c)
	}
}

// checked handles a call after its route's checks. One that they refuse is answered
// without its body.
func checked(c call) error {
	if err := c.check(); err != nil {
		c.leaveBody()
		return err
	}
	if pool := c.param("pool"); pool != "" {
		c.spanPool(pool)
		if !c.isRead() {
			defer c.server.dropCopies(pool) // it may have changed, whatever the answer
		}
	}
	return c.route.handle(c)
}

// check makes the checks of the call's route: the token first, so that nobody learns
// more without one, then Accept, the path and the query.
func (c *call) check() error {
	var err error
	if c.caller, err = c.server.gate.admit(c.route.role, c.gin.Request); err != nil {
		return err
	}
	if err := c.route.checkAccept(c.gin.Request.Header); err != nil {
		return err
	}
	if err := c.readPath(); err != nil {
		return err
	}
	if !c.route.draws() { // whose line has neither
		c.gin.Set(admittedKey{}, admitted{c.caller.Name, c.param("pool")})
	}
	if c.gin.Request.URL.RawQuery != "" {
		c.query, err = c.route.readQuery(c.gin.Request.URL.RawQuery)
	}
	return err
}

// readPath decodes and checks the parts of the path, for param.
func (c call) readPath() error {
	for i := range c.gin.Params {
		p := &c.gin.Params[i]
		value, err := url.PathUnescape(p.Value)
		switch {
		case err != nil:
			return draw.Errorf(draw.CodeInvalidRequest, "the %s in the path is not percent-encoded", p.Key)
		case p.Key == "item":
			if n, failed := strconv.ParseInt(value, 10, 64); failed != nil || n < 1 || value[0] == '+' {
				err = draw.Errorf(draw.CodeInvalidRequest, "the item in the path must be a whole number above 0")
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

// actor is who makes the call: the name of the token, "" where none was needed.
func (c call) actor() string { return cmp.Or(c.server.Actor, c.caller.Name) }

// param returns a part of the path by its name in the route.
func (c call) param(name string) string { return c.gin.Param(name) }

// readQuery reads the query parameters. One that the route does not take, or
// that is given twice, is rejected.
func (r *route) readQuery(raw string) (url.Values, error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the query cannot be read")
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(r.query, name) {
			return nil, draw.Errorf(draw.CodeInvalidRequest, "unknown query parameter %s", api.Quote(name))
		}
		if len(query[name]) > 1 {
			return nil, draw.Errorf(draw.CodeInvalidRequest, "query parameter %q is there twice", name)
		}
	}
	return query, nil
}

// number returns a query parameter, or usual when the caller does not give it.
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

// word returns a query parameter that is one of some words, the first when the
// caller does not give it.
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

// within returns the request's context, bounded by limit.
func (c call) within(limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.gin.Request.Context(), limit)
}

// unhurried gives an answer that may take long its own time to be written, in
// place of the server's write timeout.
func (c call) unhurried(limit time.Duration) {
	// A writer without deadlines needs none lifted.
	_ = nethttp.NewResponseController(c.gin.Writer).SetWriteDeadline(time.Now().Add(limit))
}

// wholeLog gives a call that reads all that a pool has the time of an audit, and its
// answer more than that.
func (c call) wholeLog() (context.Context, context.CancelFunc) {
	c.unhurried(c.server.limits.audit + 10*time.Second)
	return c.within(c.server.limits.audit)
}

// created says that the answer is 201, of something that location shows.
func (c call) created(location string) {
	c.gin.Writer.Header().Set("Location", location)
	c.gin.Writer.WriteHeader(nethttp.StatusCreated)
}

// replayed says whether the answer was given before.
func (c call) replayed(was bool) {
	if was {
		c.gin.Writer.Header().Set("Idempotent-Replayed", "true")
	}
}

// shortMax is the longest answer that net/http keeps until its handler ends, in
// bytes: it finds the length of these itself.
const shortMax = 2 << 10

// writeShort is write for an answer that is short as a rule: without its length
// there is one header less to copy, sort and write.
func (c call) writeShort(status int, body []byte) {
	if len(body) > shortMax {
		c.write(status, body)
		return
	}
	c.answer(status, body)
}

// write sends an answer whose headers are set, with its length.
func (c call) write(status int, body []byte) {
	c.gin.Writer.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	c.answer(status, body)
}

func (c call) answer(status int, body []byte) {
	c.gin.Writer.WriteHeader(status)
	_, _ = c.gin.Writer.Write(body) // a caller who has disconnected cannot be notified
}

// isRead says whether the call changes nothing.
func (c call) isRead() bool {
	return c.route.method == nethttp.MethodGet || c.route.method == nethttp.MethodHead
}

// writeJSON answers with the JSON of v.
func (c call) writeJSON(v any) error {
	body, err := encodeJSON(v)
	if err != nil {
		return err
	}
	return c.writeEncoded(body)
}

func encodeJSON(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, draw.WrapInternal(err, "the answer could not be written")
	}
	return append(body, '\n'), nil
}

// writeEncoded answers with JSON.
func (c call) writeEncoded(body []byte) error {
	done, err := c.room(len(body))
	if err != nil && c.isRead() {
		return err
	}
	if err == nil {
		defer done()
	}
	c.gin.Writer.Header()["Content-Type"] = c.server.headers.json
	c.write(c.gin.Writer.Status(), body)
	return nil
}
