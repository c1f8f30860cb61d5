package http

import (
	"cmp"
	"math"

	"drawsvc/internal/draw"
)

// Tickets reads tickets, compact signed tokens that allow one draw each.
type Tickets interface {
	// Read returns the draw that a genuine ticket allows, which may have expired.
	// Error: CodeTicketInvalid.
	Read(ticket string) (draw.Request, error)
	// AreTaken reports whether any ticket can be genuine.
	AreTaken() bool
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
