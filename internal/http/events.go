package http

import (
	"context"
	nethttp "net/http"
	"time"

	"drawsvc/internal/access"
	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
)

// Watcher shows the pools to many callers at once.
type Watcher interface {
	// Watch calls write with each frame, an event of text/event-stream, until ctx ends,
	// write fails or there are no more frames. Error: CodeOverloaded if too many watch.
	Watch(ctx context.Context, write func(frame []byte) error) error
}

// events answers GET /admin/events, while the caller listens, its token is valid, and
// the service does not shut down.
func (s *Server) events(c call) error {
	if s.streaming.Err() != nil {
		return draw.Errorf(draw.CodeDraining, "the service is shutting down; another instance has events")
	}
	done, err := c.take(s.bounds.Listeners, 1, "as many streams of events are open already as this token may open")
	if err != nil {
		return err
	}
	defer done()
	ctx, end := context.WithCancel(c.gin.Request.Context())
	defer end()
	defer context.AfterFunc(s.streaming, end)()
	// Without this, net/http would treat the end of the read timeout as a disconnection
	// of the caller.
	_ = nethttp.NewResponseController(c.gin.Writer).SetReadDeadline(time.Time{})
	return s.Watcher.Watch(ctx, func(frame []byte) error {
		if !s.gate.Admits(c.caller, c.route.role) {
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
		if err != nil { // a caller who does not read counts as disconnected
			end()
		}
		return nil
	})
}

type selfAnswer struct {
	Name string      `json:"name"`
	Role access.Role `json:"role"`
	// Until is when the token expires, null for never.
	Until *string `json:"until"`
	// Draws is who may draw.
	Draws gate.Drawers `json:"draws"`
}

// self answers GET /admin/self with the caller's token, and who may draw.
func (s *Server) self(c call) error {
	a := selfAnswer{Name: c.caller.Name, Role: c.caller.Role, Draws: s.gate.Drawers()}
	if !c.caller.Until.IsZero() {
		until := api.ShowTime(c.caller.Until)
		a.Until = &until
	}
	return c.writeJSON(a)
}
