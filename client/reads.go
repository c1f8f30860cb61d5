package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// User is the standing of a user under the rules of a pool.
type User struct {
	Limits []UserLimit `json:"limits"`
	// Misses is how many draws the user has made since the last win.
	Misses int64 `json:"misses"`
	// GuaranteedIn is 1 if the next draw is guaranteed to win, nil without a guarantee.
	GuaranteedIn *int64 `json:"guaranteed_in"`
	Blocked      bool   `json:"blocked"`
}

// UserLimit is what a user has used of a limit.
type UserLimit struct {
	Limit
	Used int64 `json:"used"`
	Left int64 `json:"left"`
	// ResetsAt is the zero time for never, and if nothing is used.
	ResetsAt time.Time `json:"resets_at"`
}

// Odds are the chances of the next draw of a pool whose rules disclose them. Chances are
// fractions such as "1/20".
type Odds struct {
	Version int64 `json:"version"`
	// Law is stock, or fixed for chances that the rules state.
	Law     string   `json:"law"`
	Win     string   `json:"win"`
	Chances []Chance `json:"odds"`
	// None is the chance of getting no prize.
	None string `json:"none"`
	// Guarantee is nil without one.
	Guarantee *Guarantee `json:"guarantee"`
	// Moments reports whether a draw may also get a prize by a winning moment, which the
	// chances do not include.
	Moments bool `json:"moments"`
}

// Chance is the chance of one prize, as a fraction.
type Chance struct {
	Prize  string `json:"prize"`
	Chance string `json:"chance"`
}

// Guarantee is the prize that a user gets after a number of misses. Rate is the
// long-run share of wins of one user's draws, "" if it has no exact value.
type Guarantee struct {
	After int64  `json:"after"`
	Prize string `json:"prize"`
	Rate  string `json:"rate"`
}

// ProvenReceipt is the receipt of a draw, and a proof that the public log contains the
// draw. The proof is nil until a checkpoint covers the draw. The JSON form is the input
// of drawsvc receipt verify.
type ProvenReceipt struct {
	Receipt Receipt       `json:"receipt"`
	Proof   *ReceiptProof `json:"proof,omitempty"`
}

// ReceiptProof proves that a log has an entry.
type ReceiptProof struct {
	// Checkpoint is a signed note. Hashes is the path of the entry, in Base64.
	Checkpoint string   `json:"checkpoint"`
	Index      int64    `json:"index"`
	Hashes     []string `json:"hashes"`
}

// User reads the standing of a user. A pool whose rules count no users answers
// UserNotCounted. Errors: *Error, *Unsettled.
func (c *Client) User(ctx context.Context, pool, user string) (*User, error) {
	return read[User](ctx, c, userPath(pool, user))
}

// UserAwards returns the awards of a user in a pool after a version, in order. A pool
// whose rules count no users answers UserNotCounted. The sequence ends after its first
// error. Errors: *Error, *Unsettled.
func (c *Client) UserAwards(ctx context.Context, pool, user string, after int64) iter.Seq2[LoggedAward, error] {
	return c.logged(ctx, userPath(pool, user)+"/awards", pool, after)
}

// Odds reads the odds that a pool discloses. Errors: *Unsettled, and *Error, with the
// code NotFound if the pool discloses none.
func (c *Client) Odds(ctx context.Context, pool string) (*Odds, error) {
	return read[Odds](ctx, c, "/pools/"+url.PathEscape(pool)+"/odds")
}

// Receipt reads the receipt of a draw of a committed pool. Errors: *Error, *Unsettled.
func (c *Client) Receipt(ctx context.Context, pool, key string) (*ProvenReceipt, error) {
	return read[ProvenReceipt](ctx, c, "/pools/"+url.PathEscape(pool)+"/draws/"+url.PathEscape(key)+"/receipt")
}

func userPath(pool, user string) string {
	return "/pools/" + url.PathEscape(pool) + "/users/" + url.PathEscape(user)
}

// read reads one answer.
func read[T any](ctx context.Context, c *Client, path string) (*T, error) {
	body, err := c.Do(ctx, Call{Method: http.MethodGet, Path: path})
	if err != nil {
		return nil, err
	}
	var answer T
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// logged returns the awards of a list, page by page.
func (c *Client) logged(ctx context.Context, path, pool string, after int64) iter.Seq2[LoggedAward, error] {
	return func(yield func(LoggedAward, error) bool) {
		for {
			var page struct {
				Awards []LoggedAward `json:"awards"`
				Next   *int64        `json:"next"`
			}
			if !c.readPage(ctx, path+"?after="+strconv.FormatInt(after, 10), 0, &page, yield) {
				return
			}
			for i := range page.Awards {
				page.Awards[i].Pool = pool
				if !yield(page.Awards[i], nil) {
					return
				}
			}
			if page.Next == nil {
				return
			}
			after = *page.Next
		}
	}
}
