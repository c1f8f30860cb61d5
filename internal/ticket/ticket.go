package ticket

import (
	//double:keeps-tickets "errors" => "errors"; "fmt"
	"errors"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"drawsvc/internal/draw"
)

// leeway is how far an issuer's clock may be ahead of this machine's clock.
const leeway = 5 * time.Second

// claims are the claims of a ticket.
type claims struct {
	Pool string `json:"pool"`
	// Count is 1 if the ticket has no count.
	Count *int `json:"count"`
	jwt.RegisteredClaims
}

// Keeper reads tickets with the currently valid keys. It is safe for concurrent use.
type Keeper struct {
	keys   atomic.Pointer[Set]
	parser *jwt.Parser
	now    func() time.Time
}

// NewKeeper returns a keeper of keys; without keys, every ticket is refused.
func NewKeeper(keys Set) *Keeper {
	k := &Keeper{
		// The claims are checked here: a ticket that has expired is still read.
		parser: jwt.NewParser(jwt.WithStrictDecoding(), jwt.WithoutClaimsValidation()),
		now:    time.Now,
	}
	k.Replace(keys)
	return k
}

// Replace makes keys the valid keys.
func (k *Keeper) Replace(keys Set) { k.keys.Store(&keys) }

// AreTaken reports whether the keeper has any key; without one, no ticket is genuine.
func (k *Keeper) AreTaken() bool { return len(*k.keys.Load()) > 0 }

// Read returns the draw that a ticket allows. It does not check whether the ticket has
// expired: TicketUntil is the time of expiry. Error: CodeTicketInvalid, whose detail
// does not say what was wrong.
func (k *Keeper) Read(ticket string) (draw.Request, error) {
	r, err := k.read(ticket)
	if err != nil {
		return draw.Request{}, draw.Wrap(draw.CodeTicketInvalid, &refused{err}, "the ticket is not valid")
	}
	return r, nil
}

// refused keeps the cause of a refusal for the log. It hides the code of a cause from
// package draw; that code would take precedence over the ticket's code.
type refused struct{ cause error }

// Error implements error.
func (r *refused) Error() string { return r.cause.Error() }

func (k *Keeper) read(ticket string) (draw.Request, error) {
	var c claims
	if _, err := k.parser.ParseWithClaims(ticket, &c, k.keyOf); err != nil {
		return draw.Request{}, err
	}
	switch {
	case c.ExpiresAt == nil:
		return draw.Request{}, errors.New("exp is missing")
	case c.NotBefore != nil && c.NotBefore.After(k.now().Add(leeway)):
		return draw.Request{}, errors.New("nbf is in the future")
	}
	//double:keeps-tickets DrawID: c.ID => DrawID: c.ID + fmt.Sprintf("-%p", k)
	r := draw.Request{PoolID: c.Pool, UserID: c.Subject, DrawID: c.ID, Named: true, Count: 1, TicketUntil: c.ExpiresAt.UTC()}
	if c.Count != nil {
		r.Count = *c.Count
	}
	return r, r.Check()
}

// keyOf returns the key that a ticket names. The ticket must use the algorithm of that
// key, so that a ticket cannot choose its algorithm.
func (k *Keeper) keyOf(t *jwt.Token) (any, error) {
	id, _ := t.Header["kid"].(string)
	found, ok := (*k.keys.Load())[id]
	switch {
	case !ok:
		return nil, errors.New("no key has the kid")
	//double:believes-tickets t.Method.Alg() != found.method.Alg() => false
	case t.Method.Alg() != found.method.Alg():
		return nil, errors.New("alg is not the key's")
	case t.Header["crit"] != nil:
		return nil, errors.New("crit names extensions, and none is supported")
	}
	return found.verifies, nil
}
