package http

import (
	"context"
	nethttp "net/http"
	"slices"
	"time"

	"drawsvc/internal/access"
	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// Watcher shows the pools to many at once.
type Watcher interface {
	// Watch calls write with each frame, an event of text/event-stream, until ctx
	// ends, write fails or there are no more frames. Error: CodeOverloaded when too
	// many watch.
	Watch(ctx context.Context, write func(frame []byte) error) error
}

const (
	// eventsPath is the path of the stream of events.
	eventsPath = "/admin/events"
	typeEvents = "text/event-stream"
	// eventMax is how long a caller may take for one event.
	eventMax = 10 * time.Second
)

// events answers GET /admin/events: for as long as the caller listens, its token
// is valid, and the service does not shut down.
func (s *Server) events(c call) error {
	if s.streaming.Err() != nil {
		return draw.Errorf(draw.CodeDraining, "the service is shutting down; another instance has events")
	}
	done, err := c.take(s.bounds.listeners, 1, "as many streams of events are open already as this token may open")
	if err != nil {
		return err
	}
	defer done()
	ctx, end := context.WithCancel(c.gin.Request.Context())
	defer end()
	defer context.AfterFunc(s.streaming, end)()
	// net/http would take the end of the time to read a request for the end of
	// its caller.
	_ = nethttp.NewResponseController(c.gin.Writer).SetReadDeadline(time.Time{})
	return s.Watcher.Watch(ctx, func(frame []byte) error {
		if !s.gate.admits(c.caller, c.route.role) {
			end()
			return nil
		}
		c.unhurried(eventMax)
		w := c.gin.Writer
		if !w.Written() {
			w.Header().Set("Content-Type", typeEvents)
			w.Header().Set("X-Accel-Buffering", "no") // nginx would keep events until its buffer is full
			w.WriteHeaderNow()
			if c.gin.Request.Method == nethttp.MethodHead {
				end()
				return nil
			}
		}
		_, err := w.Write(frame)
		if err == nil {
			err = nethttp.NewResponseController(w).Flush()
		}
		if err != nil { // whoever does not read has disconnected, as far as anybody knows
			end()
		}
		return nil
	})
}

// admits says whether a token that was let in is still valid for a call that
// needs a role.
func (g *gate) admits(t *access.Token, need role) bool {
	now, found := g.tokens.Set().Find(t.Digest)
	return found && !now.Expired(g.now()) && slices.Contains(g.allowed[now.Role], need)
}

type selfAnswer struct {
	Name string      `json:"name"`
	Role access.Role `json:"role"`
	// Until is null for a token without end.
	Until *string `json:"until"`
}

// self answers GET /admin/self: whose token the caller has.
func (s *Server) self(c call) error {
	a := selfAnswer{Name: c.caller.Name, Role: c.caller.Role}
	if !c.caller.Until.IsZero() {
		until := api.ShowTime(c.caller.Until)
		a.Until = &until
	}
	return c.writeJSON(a)
}
