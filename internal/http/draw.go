package http

import (
	"context"
	nethttp "net/http"
	"net/url"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"drawsvc/internal/draw"
)

const drawPath = "/draw"

// drawBody is the body of POST /draw.
type drawBody struct {
	Pool  string `json:"pool"`
	User  string `json:"user"`
	Count int    `json:"count"`
}

// postDraw is the hot path: what it does is paid for every draw.
func (s *Server) postDraw(c *gin.Context) {
	defer unwatched(c.Request.Context())()
	request, err := s.drawRequest(c.Request)
	if err != nil {
		s.fail(c, err)
		return
	}
	if !s.gate.enter() {
		s.fail(c, draw.Errorf(draw.CodeDraining, "the service is shutting down and takes no new draws"))
		return
	}
	defer s.gate.leave()
	// A draw that is under way is not its caller's to cancel, and the drawer
	// has a deadline of its own: no context to watch, for every draw.
	made, err := s.Drawer.Draw(context.WithoutCancel(c.Request.Context()), request)
	if err != nil {
		s.fail(c, err)
		return
	}
	if made.Replayed {
		c.Writer.Header().Set("Idempotent-Replayed", "true")
	}
	s.writeDraw(c, &made)
}

// drawRequest reads and names a draw.
func (s *Server) drawRequest(r *nethttp.Request) (draw.Request, error) {
	key, err := idempotencyKey(r.Header)
	if err != nil {
		return draw.Request{}, err
	}
	body := drawBody{Count: 1}
	if err := s.decode(r, &body); err != nil {
		return draw.Request{}, err
	}
	request := draw.Request{PoolID: body.Pool, UserID: body.User, Count: body.Count, DrawID: key, Named: key != ""}
	if !request.Named {
		made, err := uuid.NewV7()
		if err != nil {
			return draw.Request{}, err
		}
		request.DrawID = made.String()
	}
	return request, request.Check()
}

// drawAgain answers GET /pools/{pool}/draws/{draw} as the same POST /draw
// would be answered now.
func (s *Server) drawAgain(c *gin.Context) {
	poolID, err := poolParam(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	drawID, err := pathParam(c, "draw")
	if err == nil {
		err = draw.CheckKey(drawID)
	}
	if err != nil {
		s.fail(c, draw.Errorf(draw.CodeInvalidRequest, "the draw in the path must be 1 to %d printable ASCII characters", draw.KeyMax))
		return
	}
	ctx, cancel := s.within(c)
	defer cancel()
	made, err := s.Reader.Draw(ctx, poolID, drawID)
	if err != nil {
		s.fail(c, err)
		return
	}
	made.Replayed = true
	s.writeDraw(c, &made)
}

type poolAnswer struct {
	ID     string        `json:"id"`
	Name   string        `json:"name"`
	State  draw.State    `json:"state"`
	Prizes []prizeAnswer `json:"prizes"`
}

type prizeAnswer struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Value string `json:"value"`
}

// pool answers GET /pools/{pool}: no counts, which would let a script time
// its draws.
func (s *Server) pool(c *gin.Context) {
	pool, err := s.readPool(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	answer := poolAnswer{pool.ID, pool.Name, pool.State, make([]prizeAnswer, len(pool.Prizes))}
	for i, p := range pool.Prizes {
		answer.Prizes[i] = prizeAnswer{p.ID, p.Name, p.Value.StringFixed(2)}
	}
	s.writeJSON(c, nethttp.StatusOK, answer)
}

func (s *Server) readPool(c *gin.Context) (draw.Pool, error) {
	poolID, err := poolParam(c)
	if err != nil {
		return draw.Pool{}, err
	}
	ctx, cancel := s.within(c)
	defer cancel()
	return s.Reader.Pool(ctx, poolID)
}

// within returns the request's context, bounded by the request time-out.
func (s *Server) within(c *gin.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.Request.Context(), s.RequestTimeout)
}

// pathParam returns one part of the path, decoded.
func pathParam(c *gin.Context, name string) (string, error) {
	value, err := url.PathUnescape(c.Param(name))
	if err != nil {
		return "", draw.Errorf(draw.CodeInvalidRequest, "the %s in the path is not percent-encoded", name)
	}
	return value, nil
}

func poolParam(c *gin.Context) (string, error) { return idParam(c, "pool") }

func idParam(c *gin.Context, name string) (string, error) {
	id, err := pathParam(c, name)
	if err != nil {
		return "", err
	}
	return id, draw.CheckID(name+" in the path", id)
}
