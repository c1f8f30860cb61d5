package http

import (
	"context"
	"io"

	"drawsvc/internal/draw"
)

// Users says where users of pools stand, whose rules count draws or wins. For
// other pools both return CodeUserNotCounted.
type Users interface {
	Standing(ctx context.Context, poolID, userID string) (draw.Standing, error)
	// UserAwards returns at most limit of a user's awards that the rules have
	// counted, with a version above after, in order of version.
	UserAwards(ctx context.Context, poolID, userID string, after int64, limit int) ([]draw.Award, error)
}

type userAnswer struct {
	Limits []userLimitAnswer `json:"limits"`
	Misses int64             `json:"misses"`
	// GuaranteedIn is 1 when the next draw is guaranteed, null without a
	// guarantee.
	GuaranteedIn *int64 `json:"guaranteed_in"`
	Blocked      bool   `json:"blocked"`
}

type userLimitAnswer struct {
	limitAnswer
	Used int64 `json:"used"`
	Left int64 `json:"left"`
	// ResetsAt is null for never, and where nothing is used.
	ResetsAt *string `json:"resets_at"`
}

func newUser(s *draw.Standing) userAnswer {
	a := userAnswer{
		Misses: s.Misses, Blocked: s.Blocked,
		Limits: each(s.Limits, func(l *draw.LimitStanding) userLimitAnswer {
			a := userLimitAnswer{limitAnswer: newLimit(&l.Limit), Used: l.Used, Left: l.Left}
			if !l.ResetsAt.IsZero() {
				at := formatTime(l.ResetsAt)
				a.ResetsAt = &at
			}
			return a
		}),
	}
	if s.GuaranteedIn > 0 {
		a.GuaranteedIn = &s.GuaranteedIn
	}
	return a
}

// WriteUser writes where a user stands as a line of JSON, as GET
// /pools/{pool}/users/{user} answers. Errors are those of w.
func WriteUser(w io.Writer, s *draw.Standing) error { return writeLine(w, newUser(s)) }

// user answers GET /pools/{pool}/users/{user}.
func (s *Server) user(ctx context.Context, c call) (userAnswer, error) {
	found, err := s.Store.Standing(ctx, c.param("pool"), c.param("user"))
	if err != nil {
		return userAnswer{}, err
	}
	return newUser(&found), nil
}

// userAwards answers GET /pools/{pool}/users/{user}/awards.
func (s *Server) userAwards(ctx context.Context, c call) (awardsAnswer, error) {
	read := func(ctx context.Context, poolID string, after int64, limit int) ([]draw.Award, error) {
		return s.Store.UserAwards(ctx, poolID, c.param("user"), after, limit)
	}
	found, next, err := readPage(ctx, c, "pool", read, func(a *draw.Award) int64 { return a.Version })
	return awardsAnswer{each(found, newAward), next}, err
}
