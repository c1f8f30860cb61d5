package http

import (
	"cmp"
	"context"
	"math"
	nethttp "net/http"

	"github.com/go-json-experiment/json"

	"drawsvc/client"
	"drawsvc/internal/api"
	"drawsvc/internal/catalogue"
	"drawsvc/internal/draw"
	"drawsvc/internal/http/conns"
	"drawsvc/internal/http/packed"
)

// drawBody is the body of POST /draw.
type drawBody struct {
	Pool   string `json:"pool"`
	User   string `json:"user"`
	Count  int    `json:"count"`
	Ticket string `json:"ticket"`
	// Receipt says that the answer is to have a signed receipt.
	Receipt bool `json:"receipt"`
}

// postDraw is the hot path: what it does is paid for every draw.
func (s *Server) postDraw(c call) error {
	ctx := c.gin.Request.Context()
	conn := conns.Of(ctx)
	conn.SetDrawing(true)
	defer conn.SetDrawing(false)
	request, err := s.drawRequest(c.gin.Request)
	if err != nil {
		c.gin.Set(mayHaveKey, request.Named)
		return err
	}
	c.spanPool(request.PoolID)
	// A draw that is under way is not its caller's to cancel, and the drawer
	// has a deadline of its own: no context to watch, for every draw.
	made, err := s.Drawer.DrawFor(context.WithoutCancel(ctx), c.id, request)
	if err != nil {
		c.gin.Set(reachedDrawer, true)
		return err
	}
	c.spanDraw(&made)
	if made.Receipt || request.Receipt {
		receipted := made // a copy, so that other draws stay off the heap
		return c.writeReceipted(&receipted, request.Receipt)
	}
	c.writeDraw(&made)
	return nil
}

// drawRequest reads and names a draw. With an error, Named says whether the draw may
// have a key.
func (s *Server) drawRequest(r *nethttp.Request) (draw.Request, error) {
	key, err := idempotencyKey(r.Header)
	if err != nil {
		return draw.Request{Named: true}, err
	}
	body := drawBody{Count: countAbsent}
	if err := s.decode(r, &body); err != nil {
		return draw.Request{Named: s.mayHaveKey(r.Header)}, err
	}
	if body.Ticket != "" {
		request, err := s.ticketRequest(&body, key)
		request.Receipt, request.Named = body.Receipt, true
		return request, err
	}
	if body.Count == countAbsent {
		body.Count = 1
	}
	request := draw.Request{PoolID: body.Pool, UserID: body.User, Count: body.Count, DrawID: key, Named: key != "", Receipt: body.Receipt}
	if !request.Named {
		request.DrawID = client.NewKey()
	}
	return request, request.Check()
}

// drawAgain answers GET /pools/{pool}/draws/{draw} as the same POST /draw
// would be answered now.
func (s *Server) drawAgain(c call) error {
	ctx, cancel := c.within(s.RequestTimeout)
	defer cancel()
	made, err := placed(ctx, c, func() (draw.Draw, error) { return s.Store.Draw(ctx, c.param("pool"), c.param("draw")) })
	if err != nil {
		return err
	}
	made.Replayed = true
	c.writeDraw(&made)
	return nil
}

type poolAnswer struct {
	ID     string        `json:"id"`
	Name   string        `json:"name"`
	State  draw.State    `json:"state"`
	Prizes []prizeAnswer `json:"prizes"`
	// OpensAt and ClosesAt are those of the pool's agenda, null for never.
	OpensAt  *string `json:"opens_at"`
	ClosesAt *string `json:"closes_at"`
}

type prizeAnswer struct {
	ID    string    `json:"id"`
	Name  string    `json:"name"`
	Value string    `json:"value"`
	Kind  draw.Kind `json:"kind"`
	// The catalogue's, where it has any.
	Description string `json:"description,omitempty"`
	Image       string `json:"image,omitempty"`
	Link        string `json:"link,omitempty"`
}

// newPrize shows a prize with what the catalogue says of it. The catalogue's name
// goes before the prize's own, in this answer alone.
func newPrize(p *draw.Prize, item catalogue.Item) prizeAnswer {
	return prizeAnswer{p.ID, cmp.Or(item.Name, p.Name), p.Value.StringFixed(2), api.KindOf(p), item.Description, item.Image, item.Link}
}

// showCopy is the handler of a call whose answer callers share.
func showCopy(of *packed.Cache) handler {
	return func(c call) error {
		ctx, cancel := c.within(c.server.RequestTimeout)
		defer cancel()
		answer, err := of.Get(ctx, c.param("pool"), c.place)
		if err != nil {
			return err
		}
		c.gin.Writer.Header()["Content-Type"] = c.server.headers.json
		c.writeCopied(answer)
		return nil
	}
}

// encodePool reads a pool and encodes what may be seen of it: no counts, which
// would let a script time its draws.
func (s *Server) encodePool(ctx context.Context, poolID string) ([]byte, error) {
	p, err := s.Store.Pool(ctx, poolID)
	if err != nil {
		return nil, err
	}
	opens, closes, err := s.opening(ctx, &p)
	if err != nil {
		return nil, err
	}
	items := s.Catalogue() // one for all prizes
	prizes := api.ShowEach(p.Prizes, func(p *draw.Prize) prizeAnswer { return newPrize(p, items[p.ID]) })
	body, err := json.Marshal(poolAnswer{p.ID, p.Name, p.State, prizes, opens, closes})
	return append(body, '\n'), err
}

// countAbsent is the count of a body that has none: nobody can mean it.
const countAbsent = math.MinInt

// ticketRequest is the draw that a ticket allows. What the caller names beside
// it must agree.
func (s *Server) ticketRequest(body *drawBody, key string) (draw.Request, error) {
	request, err := s.Tickets.Read(body.Ticket)
	if err != nil {
		return draw.Request{}, err
	}
	differs := func(member string) (draw.Request, error) {
		return draw.Request{}, draw.Errorf(draw.CodeInvalidRequest, "%s is not the one of the ticket", member)
	}
	switch {
	case body.Pool == "":
		return draw.Request{}, draw.CheckID("pool", body.Pool)
	case body.Pool != request.PoolID:
		return differs("pool")
	case cmp.Or(body.User, request.UserID) != request.UserID:
		return differs("user")
	case body.Count != countAbsent && body.Count != request.Count:
		return differs("count")
	case cmp.Or(key, request.DrawID) != request.DrawID:
		return differs("Idempotency-Key")
	}
	return request, nil
}

const (
	// reachedDrawer is set of a draw that failed after the drawer had it. What the log
	// says of its key is then in the error.
	reachedDrawer = "reached-drawer"
	// mayHaveKey is set of a draw that failed before, and whose body was asked for:
	// whether the draw may have a key.
	mayHaveKey = "may-have-key"
)

// mayHaveKey reports whether a draw may have a key, where its header is all that was
// read: the body may hold a ticket, which has one.
func (s *Server) mayHaveKey(h nethttp.Header) bool {
	return len(h[keyHeader]) > 0 || s.Tickets.AreTaken()
}
