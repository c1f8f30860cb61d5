package api

import (
	"context"
	"net/http"

	"drawsvc/internal/draw/urn"
)

// User is the standing of a user in a pool.
type User struct {
	Limits []UserLimit `json:"limits"`
	Misses int64       `json:"misses"`
	// GuaranteedIn is the number of draws up to the guaranteed one, 1 if it is the next
	// draw; null without a guarantee.
	GuaranteedIn *int64 `json:"guaranteed_in"`
	Blocked      bool   `json:"blocked"`
}

// UserLimit is what a user has used of a limit.
type UserLimit struct {
	Limit
	Used int64 `json:"used"`
	Left int64 `json:"left"`
	// ResetsAt is null for never, and if nothing is used.
	ResetsAt *string `json:"resets_at"`
}

// ShowUser converts the standing of a user to its response type.
func ShowUser(s *urn.Standing) User {
	shown := User{
		Misses: s.Misses, Blocked: s.Blocked,
		Limits: ShowEach(s.Limits, func(l *urn.LimitStanding) UserLimit {
			return UserLimit{ShowLimit(&l.Limit), l.Used, l.Left, ShowTimeOrNull(l.ResetsAt)}
		}),
	}
	if s.GuaranteedIn > 0 {
		shown.GuaranteedIn = &s.GuaranteedIn
	}
	return shown
}

// Erased is the number of awards in which a user was replaced. It does not contain the
// user.
type Erased struct {
	Pool   string `json:"pool"`
	Awards int64  `json:"awards"`
}

// User returns the standing of a user under the rules of a pool. Errors:
// CodePoolNotFound, CodeUserNotCounted.
func (c *Client) User(ctx context.Context, poolID, userID string) (User, error) {
	return see[User](ctx, c, pathOf("pools", poolID, "users", userID))
}

// EraseUser replaces a user in all awards of a pool, and returns their number. Errors:
// CodePoolNotFound, CodePoolOpen, CodeSeedUnavailable.
func (c *Client) EraseUser(ctx context.Context, poolID, user string) (int64, error) {
	call := newCall(http.MethodDelete, poolPath(poolID, "users", user))
	call.AttemptMax = wholeLogMax
	done, err := fetch[Erased](ctx, c, call)
	return done.Awards, err
}
