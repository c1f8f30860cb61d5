package http

import (
	"context"
	"errors"
	"io"
	"math/big"
	"slices"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/odds"
)

// Odds states the chances of a pool's next draw.
type Odds interface {
	// Odds are those of a user, or for userID "" of one without turns. A draw
	// that would be refused is an error with the refusal's code.
	Odds(ctx context.Context, poolID, userID string) (odds.Statement, error)
}

type oddsAnswer struct {
	Version int64          `json:"version"`
	Law     odds.Law       `json:"law"`
	Win     string         `json:"win"`
	Odds    []chanceAnswer `json:"odds"`
	None    string         `json:"none"`
	// Guarantee is null for rules without one.
	Guarantee *guaranteeAnswer `json:"guarantee"`
}

type chanceAnswer struct {
	Prize  string `json:"prize"`
	Chance string `json:"chance"`
}

type guaranteeAnswer struct {
	After int64  `json:"after"`
	Prize string `json:"prize"`
	// Rate is null where it has no exact value.
	Rate *string `json:"rate"`
}

func newOdds(o *odds.Statement) oddsAnswer {
	a := oddsAnswer{
		Version: o.Version, Law: o.Law, Win: fraction(o.Win), None: fraction(o.None),
		Odds: each(o.Odds, func(c *odds.Chance) chanceAnswer { return chanceAnswer{c.PrizeID, fraction(c.Chance)} }),
	}
	if g := o.Guarantee; g != nil {
		a.Guarantee = &guaranteeAnswer{After: g.After, Prize: g.PrizeID}
		if g.Rate != nil {
			rate := fraction(g.Rate)
			a.Guarantee.Rate = &rate
		}
	}
	return a
}

// fraction writes a/b in lowest terms, also 0/1 and 1/1.
func fraction(r *big.Rat) string { return r.String() }

// encodeOdds encodes the answer to GET /pools/{pool}/odds, where the rules say that
// players may read them. They follow from the pool's state and, where the rules have a
// budget of a window, from the time.
func (s *Server) encodeOdds(ctx context.Context, poolID string) ([]byte, error) {
	found, err := s.Odds.Odds(ctx, poolID, "")
	if err == nil && !found.IsDisclosed {
		err = draw.Errorf(draw.CodeNotFound, "pool %q publishes no odds", poolID)
	}
	if err != nil {
		return nil, err
	}
	return encodeJSON(newOdds(&found))
}

// refusedAnswer says what would refuse a user's draw now.
type refusedAnswer struct {
	Refused draw.Code `json:"refused"`
	Detail  string    `json:"detail"`
	// Limit and RetryAt belong to limit-reached; RetryAt is null for ever.
	Limit   *limitAnswer `json:"limit"`
	RetryAt *string      `json:"retry_at"`
}

// gates are the codes of what may refuse a draw.
func gates() []draw.Code {
	return []draw.Code{draw.CodePoolNotOpen, draw.CodePaused, draw.CodeTicketRequired, draw.CodeTicketExpired, draw.CodeUserBlocked, draw.CodeLimitReached, draw.CodeSoldOut}
}

// newRefused is the answer to a draw that would be refused; ok is false for an
// error that is none of a gate.
func newRefused(err error) (a refusedAnswer, ok bool) {
	e := Refusal(err)
	if e == nil {
		return a, false
	}
	a = refusedAnswer{Refused: e.Code, Detail: e.Detail}
	if r := e.Reached; r != nil {
		limit := newLimit(&r.Limit)
		a.Limit = &limit
		if !r.RetryAt.IsZero() {
			at := formatTime(r.RetryAt)
			a.RetryAt = &at
		}
	}
	return a, true
}

// Refusal returns the refusal of a gate that err is, nil for any other error: it
// is an answer to whoever asks for odds.
func Refusal(err error) *draw.Error {
	e, isNamed := errors.AsType[*draw.Error](err)
	if !isNamed || !slices.Contains(gates(), e.Code) {
		return nil
	}
	return e
}

// WriteOdds writes what GET /admin/pools/{pool}/odds answers as a line of JSON:
// a statement, or the refusal that err is. Errors are those of w, and err where
// no gate has refused.
func WriteOdds(w io.Writer, o *odds.Statement, err error) error {
	answer, err := oddsOrRefusal(o, err)
	if err != nil {
		return err
	}
	return writeLine(w, answer)
}

func oddsOrRefusal(o *odds.Statement, err error) (any, error) {
	if refused, ok := newRefused(err); ok {
		return refused, nil
	}
	if err != nil {
		return nil, err
	}
	return newOdds(o), nil
}

// adminOdds answers GET /admin/pools/{pool}/odds.
func (s *Server) adminOdds(ctx context.Context, c call) (any, error) {
	userID := ""
	if c.query.Has("user") {
		userID = c.query.Get("user")
		if err := draw.CheckUser(userID); err != nil {
			return nil, err
		}
	}
	found, err := s.Odds.Odds(ctx, c.param("pool"), userID)
	return oddsOrRefusal(&found, err)
}
