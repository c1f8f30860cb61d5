package http

import (
	"cmp"
	"context"
	"math"
	nethttp "net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"drawsvc/client"
	"drawsvc/internal/api"
	"drawsvc/internal/catalogue"
	"drawsvc/internal/draw"
	"drawsvc/internal/http/conns"
	"drawsvc/internal/http/packed"
)

// Drawer decides draws. DrawFor accepts requests that were checked, has its own
// deadline and returns *draw.Error; requestID names the HTTP request in the log. After
// the beginning of Drain it rejects new draws as draining; Drain returns when the draws
// under way are decided, or with ctx's error.
type Drawer interface {
	DrawFor(ctx context.Context, requestID string, r draw.Request) (draw.Draw, error)
	Drain(ctx context.Context) error
}

// Reader has the reads that a caller of role draw may make.
type Reader interface {
	Pool(ctx context.Context, poolID string) (draw.Pool, error)
	// Draw returns a draw with the codes of its awards.
	Draw(ctx context.Context, poolID, drawID string) (draw.Draw, error)
}

// Tickets reads tickets: compact signed tokens that allow one draw each.
type Tickets interface {
	// Read returns the draw that a genuine ticket allows; the ticket may have expired.
	// Error: CodeTicketInvalid.
	Read(ticket string) (draw.Request, error)
	// AreTaken reports whether any ticket can be genuine.
	AreTaken() bool
}

// drawBody is the body of a draw.
type drawBody struct {
	Pool   string `json:"pool"`
	User   string `json:"user"`
	Count  int    `json:"count"`
	Ticket string `json:"ticket"`
	// Receipt means that the caller wants a signed receipt in the answer.
	Receipt bool `json:"receipt"`
}

// postDraw is the hot path: every draw pays for its costs.
func (s *Server) postDraw(c call) error {
	ctx := c.gin.Request.Context()
	conn := conns.Of(ctx)
	conn.SetDrawing(true)
	defer conn.SetDrawing(false)
	request, err := s.drawRequest(c.gin.Request, c.param("pool"))
	if err != nil {
		c.gin.Set(mayHaveKey, request.Named)
		return err
	}
	if c.route.path == drawPath {
		c.spanPool(request.PoolID)
	}
	// A caller cannot cancel a draw that is under way, and the drawer has its own
	// deadline. So no draw needs a context that is watched.
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

// drawRequest reads and names a draw; pool is the pool in the path, "" for none. If it
// returns an error, the request's field Named states whether the draw may have a key.
func (s *Server) drawRequest(r *nethttp.Request, pool string) (draw.Request, error) {
	key, err := idempotencyKey(r.Header)
	if err != nil {
		return draw.Request{Named: true}, err
	}
	body := drawBody{Pool: pool, Count: countAbsent}
	if err := s.decode(r, &body); err != nil {
		return draw.Request{Named: s.mayHaveKey(r.Header)}, err
	}
	if pool != "" && body.Pool != pool {
		return draw.Request{Named: key != "" || body.Ticket != ""}, draw.Errorf(draw.CodeInvalidRequest, "pool is not the one of the path")
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

// drawAgain answers GET /pools/{pool}/draws/{draw} with the answer that the same POST
// /draw would get now.
func (s *Server) drawAgain(c call) error {
	made, err := placed(c, func(ctx context.Context) (draw.Draw, error) {
		return s.Store.Draw(ctx, c.param("pool"), c.param("draw"))
	})
	if err != nil {
		return err
	}
	made.Replayed = true
	c.writeDraw(&made)
	return nil
}

type poolAnswer struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Text is the operator's text for players, left out if there is none.
	Text   string        `json:"text,omitempty"`
	State  draw.State    `json:"state"`
	Prizes []prizeAnswer `json:"prizes"`
	// OpensAt is when the agenda next opens the pool, ClosesAt when it next pauses or
	// closes it; null for never.
	OpensAt  *string `json:"opens_at"`
	ClosesAt *string `json:"closes_at"`
}

type prizeAnswer struct {
	ID    string    `json:"id"`
	Name  string    `json:"name"`
	Value string    `json:"value"`
	Kind  draw.Kind `json:"kind"`
	// Each of these texts comes from the operator's display texts, otherwise from the
	// catalogue. It is left out if neither has it.
	Description string `json:"description,omitempty"`
	Image       string `json:"image,omitempty"`
	Link        string `json:"link,omitempty"`
}

// newPrize shows a prize with the operator's display texts. Where one is missing, it
// uses the text of the prize's item in the catalogue. A name from either source replaces
// the prize's own name, in this answer only.
func newPrize(p *draw.Prize, item catalogue.Item) prizeAnswer {
	d := draw.Display{}
	if p.Display != nil {
		d = *p.Display
	}
	return prizeAnswer{
		p.ID, cmp.Or(d.Name, item.Name, p.Name), p.Value.StringFixed(2), api.KindOf(p),
		cmp.Or(d.Text, item.Description), cmp.Or(d.Picture, item.Image), cmp.Or(d.Link, item.Link),
	}
}

// showCopy returns the handler of a call whose answer callers share.
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

// encodePool reads a pool and encodes its public part: no counts, which would help a
// script to time its draws.
func (s *Server) encodePool(ctx context.Context, poolID string) ([]byte, error) {
	p, err := s.Store.Pool(ctx, poolID)
	if err != nil {
		return nil, err
	}
	opens, closes, err := s.opening(ctx, &p)
	if err != nil {
		return nil, err
	}
	items := s.Catalogue() // the same for all prizes
	prizes := api.ShowEach(p.Prizes, func(p *draw.Prize) prizeAnswer { return newPrize(p, items[p.ID]) })
	body, err := json.Marshal(poolAnswer{p.ID, p.Name, p.Text, p.State, prizes, opens, closes})
	return append(body, '\n'), err
}

// countAbsent stands for a count that the body does not have. It is not a valid count.
const countAbsent = math.MinInt

// ticketRequest returns the draw that a ticket allows. Members that the caller sends as
// well must agree with the ticket.
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
	// reachedDrawer marks a draw that failed after the drawer got it. Such an error
	// states whether the log has the draw's key.
	reachedDrawer = "reached-drawer"
	// mayHaveKey is set for a draw that failed while its request was read, before the
	// drawer got it. Its value states whether the draw may have a key.
	mayHaveKey = "may-have-key"
)

// mayHaveKey reports, from the header only, whether a draw may have a key: the body may
// contain a ticket, which has a key.
func (s *Server) mayHaveKey(h nethttp.Header) bool {
	return len(h[keyHeader]) > 0 || s.Tickets.AreTaken()
}

// appendDraw writes the answer to a draw. Prizes and their names come from the store,
// which accepts only valid UTF-8; anything else becomes U+FFFD.
func appendDraw(b []byte, d *draw.Draw) []byte {
	b = append(b, `{"draw":`...)
	b, _ = jsontext.AppendQuote(b, d.ID)
	b = append(b, `,"pool":`...)
	b, _ = jsontext.AppendQuote(b, d.PoolID)
	b = append(b, `,"user":`...)
	b, _ = jsontext.AppendQuote(b, d.UserID)
	b = append(b, `,"replayed":`...)
	b = strconv.AppendBool(b, d.Replayed)
	b = append(b, `,"awards":[`...)
	for i := range d.Awards {
		if i > 0 {
			b = append(b, ',')
		}
		var l *draw.Life
		if i < len(d.Lives) {
			l = d.Lives[i]
		}
		b = appendAward(b, &d.Awards[i], l)
	}
	return append(b, "]"+answerEnd...)
}

func appendAward(b []byte, a *draw.Award, l *draw.Life) []byte {
	b = append(b, `{"prize":`...)
	b, _ = jsontext.AppendQuote(b, a.PrizeID)
	b = append(b, `,"name":`...)
	b, _ = jsontext.AppendQuote(b, a.PrizeName)
	b = append(b, `,"value":"`...)
	b = appendValue(b, a.Value)
	b = append(b, `","win":`...)
	b = strconv.AppendBool(b, a.Win())
	b = append(b, `,"unit":`...)
	b = strconv.AppendInt(b, a.Unit, 10)
	b = append(b, `,"version":`...)
	b = strconv.AppendInt(b, a.Version, 10)
	b = append(b, `,"at":"`...)
	b = draw.AppendTime(b, a.At)
	b = append(b, '"')
	switch {
	case l != nil:
		b = appendLife(b, l)
	case a.NeedsClaim:
		b = appendTimeOrNull(append(b, `,"claim_until":`...), a.ClaimUntil)
	}
	if a.HasCode {
		b = append(b, `,"code":`...)
		b, _ = jsontext.AppendQuote(b, a.Code)
	}
	return append(b, '}')
}

// appendLife writes the life of an award.
func appendLife(b []byte, l *draw.Life) []byte {
	b = strconv.AppendBool(append(b, `,"needs_claim":`...), l.NeedsClaim)
	b = appendTimeOrNull(append(b, `,"claim_until":`...), l.Until)
	b = append(append(append(b, `,"state":"`...), l.State...), `","since":"`...)
	b = append(draw.AppendTime(b, l.Since), '"')
	if l.State == draw.AwardFulfilled {
		b = append(b, `,"reference":`...)
		b, _ = jsontext.AppendQuote(b, l.Reference)
	}
	return b
}

func appendTimeOrNull(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, "null"...)
	}
	return append(draw.AppendTime(append(b, '"'), t), '"')
}

// appendValue writes a value with two decimals. Values in whole cents, as the store has
// them, are written without big integers.
func appendValue(b []byte, v decimal.Decimal) []byte {
	const digitsMax = 15 // so many digits always fit in an int64
	if v.Exponent() != -2 || v.IsNegative() || v.NumDigits() > digitsMax {
		return append(b, v.StringFixed(2)...)
	}
	cents := v.CoefficientInt64()
	b = strconv.AppendInt(b, cents/100, 10)
	return append(b, '.', byte('0'+cents/10%10), byte('0'+cents%10))
}

// writeDraw answers with a draw.
func (c call) writeDraw(d *draw.Draw) {
	c.replayed(d.Replayed)
	out := c.server.buffer()
	defer c.server.buffers.Put(out)
	*out = appendDraw((*out)[:0], d)
	c.gin.Writer.Header()["Content-Type"] = c.server.headers.json
	c.writeShort(nethttp.StatusOK, *out)
}

// answerEnd ends the answer to a draw.
const answerEnd = "}\n"
