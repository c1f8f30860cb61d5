package api

import (
	"bufio"
	"context"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
	"drawsvc/internal/job"
)

// End states how a caller continues after a page.
type End struct {
	// Cursor is the parameter after of the next page, even if that page is still empty.
	Cursor int64 `json:"cursor"`
	// Next is the parameter after of the next page, null if this is the last.
	Next *int64 `json:"next"`
}

// Awards is a page of awards.
type Awards struct {
	Awards []Award `json:"awards"`
	End
}

// Award is one unit that a draw took.
type Award struct {
	Version int64  `json:"version"`
	At      string `json:"at"`
	Draw    string `json:"draw"`
	Ordinal int    `json:"ordinal"`
	User    string `json:"user"`
	Prize   string `json:"prize"`
	Name    string `json:"name"`
	Value   string `json:"value"`
	Win     bool   `json:"win"`
	Unit    int64  `json:"unit"`
	// Kind is prize, or blank for a losing ticket.
	Kind draw.Kind `json:"kind"`
	// Redirect is left out if the award is the unit that was drawn.
	Redirect *Redirect `json:"redirect,omitempty"`
}

// Redirect describes the drawn unit that the rules replaced. Drawn is null if no unit was
// drawn.
type Redirect struct {
	Drawn *string  `json:"drawn"`
	Why   draw.Why `json:"why"`
}

// ShowAward converts an award to its response type.
func ShowAward(a *draw.Award) Award {
	shown := Award{
		a.Version, ShowTime(a.At), a.DrawID, a.Ordinal, a.UserID, a.PrizeID, a.PrizeName, a.Value.StringFixed(2), a.Win(), a.Unit, draw.KindPrize, nil,
	}
	if !a.Win() {
		shown.Kind = draw.KindBlank
	}
	if a.Redirect != nil {
		shown.Redirect = &Redirect{orNil(a.Redirect.Drawn), a.Redirect.Why}
	}
	return shown
}

// Feed is a page of the feed of awards over all pools.
type Feed struct {
	Awards []FeedAward `json:"awards"`
	// End means that the feed has no later awards yet. Next is the cursor after the page.
	End  bool   `json:"end"`
	Next string `json:"next"`
}

// FeedAward is an award of the feed. Cursor is the cursor after it.
type FeedAward struct {
	Pool string `json:"pool"`
	Award
	Cursor string `json:"cursor"`
}

// ShowFeedAward converts an award of the feed to its response type.
func ShowFeedAward(a *draw.FeedAward) FeedAward {
	return FeedAward{a.PoolID, ShowAward(&a.Award), a.Next.String()}
}

// Moves is a page of moves.
type Moves struct {
	Moves []Move `json:"moves"`
	End
}

// Move is a move of stock.
type Move struct {
	Version int64  `json:"version"`
	At      string `json:"at"`
	Prize   string `json:"prize"`
	Delta   *int64 `json:"delta"` // null: an endless blank was created
	Reason  string `json:"reason"`
	Actor   string `json:"actor"`
	Stocked *int64 `json:"stocked"`
	Issued  int64  `json:"issued"`
}

// ShowMove converts a move to its response type.
func ShowMove(m *draw.Move) Move {
	return Move{
		m.Version, ShowTime(m.At), m.PrizeID, unlessEndless(m.Delta, m.IsEndless), m.Reason, m.Actor, unlessEndless(m.Stocked, m.IsEndless), m.Issued,
	}
}

// Statements is a page of the lines of daily statements.
type Statements struct {
	Statements []Statement `json:"statements"`
	// Next is the parameter after of the next page, null if this is the last.
	Next *string `json:"next"`
}

// Statement is the line of a prize on a day.
type Statement struct {
	Day       string `json:"day"`
	Prize     string `json:"prize"`
	Issued    int64  `json:"issued"`
	Remaining *int64 `json:"remaining"` // null: endless
	Value     string `json:"value"`
	ToVersion int64  `json:"to_version"`
}

// ShowStatement converts a line to its response type.
func ShowStatement(l *job.Line) Statement {
	return Statement{l.Day, l.Prize, l.Issued, unlessEndless(l.Remaining, l.IsEndless), l.Value.StringFixed(2), l.ToVersion}
}

// Awards returns a page of the awards that match f and have versions above after, in
// order. Errors: CodeInvalidRequest, CodePoolNotFound.
func (c *Client) Awards(ctx context.Context, poolID string, f *draw.AwardFilter, after int64) (Awards, error) {
	query := pageOf(after)
	for name, value := range map[string]string{"user": f.UserID, "prize": f.PrizeID, "draw": f.DrawID} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if f.Wins {
		query.Set("win", "true")
	}
	for name, at := range map[string]time.Time{"from": f.From, "to": f.To} {
		if !at.IsZero() {
			query.Set(name, ShowTime(at))
		}
	}
	page, err := see[Awards](ctx, c, poolPath(poolID, "awards")+"?"+query.Encode())
	return page, checkPage(err, after, page.Next)
}

// Moves returns a page of the moves of a pool. Error: CodePoolNotFound.
func (c *Client) Moves(ctx context.Context, poolID string, after int64) (Moves, error) {
	page, err := see[Moves](ctx, c, poolPath(poolID, "moves")+"?"+pageOf(after).Encode())
	return page, checkPage(err, after, page.Next)
}

// Statements returns a page of the statements of the days later than a day. Errors:
// CodeInvalidRequest, CodePoolNotFound.
func (c *Client) Statements(ctx context.Context, poolID, after string) (Statements, error) {
	query := url.Values{"limit": {strconv.Itoa(PageUsual)}}
	if after != "" {
		query.Set("after", after)
	}
	page, err := see[Statements](ctx, c, poolPath(poolID, "statements")+"?"+query.Encode())
	return page, checkPage(err, after, page.Next)
}

// WriteLog writes the entries of a pool's history after a version, one line of JSON for
// each. It ends at the entry that was the last one when it began. Errors:
// CodePoolNotFound, and those of w.
func (c *Client) WriteLog(ctx context.Context, poolID string, after int64, w io.Writer) error {
	p, err := c.Pool(ctx, poolID)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for after < p.Version {
		page, err := see[struct {
			Entries []jsontext.Value `json:"entries"`
			Next    *int64           `json:"next"`
		}](ctx, c, poolPath(poolID, "log")+"?"+pageOf(after).Encode())
		if err != nil {
			return err
		}
		for _, entry := range page.Entries {
			var number struct {
				Version int64 `json:"version"`
			}
			if err := json.Unmarshal(entry, &number); err != nil {
				return notOurs(err)
			}
			if number.Version > p.Version {
				return out.Flush()
			}
			if _, err := out.Write(append(entry, '\n')); err != nil {
				return err
			}
		}
		if page.Next == nil {
			break
		}
		if err := checkNext(after, *page.Next); err != nil {
			return err
		}
		after = *page.Next
	}
	return out.Flush()
}

// CheckDay returns an error for an invalid day. Error: CodeInvalidRequest.
func CheckDay(what, day string) error {
	if _, err := time.Parse(time.DateOnly, day); err != nil || strings.ContainsAny(day, " ") {
		return draw.Errorf(draw.CodeInvalidRequest, "%s must be a day, such as 2026-03-01", what)
	}
	return nil
}
