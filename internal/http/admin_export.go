package http

import (
	"cmp"
	"context"
	"math"
	"net/url"
	"strconv"

	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
	"drawsvc/internal/job"
)

var _ Statements = (*Admin)(nil)

// pageOf is the query of a page of entries.
func pageOf(after int64, limit int) url.Values {
	return url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(min(limit, limitMax))}}
}

// FindAwards implements that of Finder. Errors: CodeInvalidRequest, CodePoolNotFound.
func (a *Admin) FindAwards(ctx context.Context, poolID string, f draw.AwardFilter, after int64, limit int) ([]draw.Award, int64, error) {
	query := pageOf(after, limit)
	for i, value := range []string{f.UserID, f.PrizeID, f.DrawID} {
		if value != "" {
			query.Set(filters()[i], value)
		}
	}
	page, err := see[awardsAnswer](ctx, a, poolPath(poolID, "awards")+"?"+query.Encode())
	if err != nil {
		return nil, 0, err
	}
	found, err := readEach(page.Awards, (*awardAnswer).award)
	if page.Next == nil {
		return found, math.MaxInt64, err
	}
	return found, *page.Next, cmp.Or(err, checkNext(after, *page.Next))
}

// award reads the answer.
func (b *awardAnswer) award() (draw.Award, error) {
	at, err := readTime(b.At)
	if err != nil {
		return draw.Award{}, err
	}
	value, err := draw.ParseValue(b.Value)
	if err != nil {
		return draw.Award{}, notOurs(err)
	}
	return draw.Award{
		Version: b.Version, DrawID: b.Draw, Ordinal: b.Ordinal, UserID: b.User, PrizeID: b.Prize, PrizeName: b.Name, Value: value,
		Blank: !b.Win, Unit: b.Unit, At: at,
	}, nil
}

// Moves implements that of History. Error: CodePoolNotFound.
func (a *Admin) Moves(ctx context.Context, poolID string, after int64, limit int) ([]draw.Move, error) {
	page, err := see[movesAnswer](ctx, a, poolPath(poolID, "moves")+"?"+pageOf(after, limit).Encode())
	if err != nil {
		return nil, err
	}
	if err := checkPage(after, page.Moves, func(b *moveAnswer) int64 { return b.Version }); err != nil {
		return nil, err
	}
	return readEach(page.Moves, func(b *moveAnswer) (draw.Move, error) {
		at, err := readTime(b.At)
		return draw.Move{
			Version: b.Version, PoolID: poolID, PrizeID: b.Prize, Delta: orEndless(b.Delta), Reason: b.Reason, Actor: b.Actor, At: at,
			Stocked: orEndless(b.Stocked), Issued: b.Issued, IsEndless: b.Stocked == nil,
		}, err
	})
}

// Statements implements Statements. Errors: CodeInvalidRequest, CodePoolNotFound.
func (a *Admin) Statements(ctx context.Context, poolID, after string, limit int) ([]job.Line, error) {
	query := url.Values{"limit": {strconv.Itoa(min(limit, daysMax))}}
	if after != "" {
		query.Set("after", after)
	}
	page, err := see[statementsAnswer](ctx, a, poolPath(poolID, "statements")+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	if err := checkPage(after, page.Statements, func(b *statementAnswer) string { return b.Day }); err != nil {
		return nil, err
	}
	return readEach(page.Statements, func(b *statementAnswer) (job.Line, error) {
		l := job.Line{
			Pool: poolID, Day: b.Day, Prize: b.Prize, Issued: b.Issued, Remaining: orEndless(b.Remaining), IsEndless: b.Remaining == nil,
			ToVersion: b.ToVersion,
		}
		var err error
		if l.Value, err = decimal.NewFromString(b.Value); err != nil { // of many units: longer than that of one
			return l, notOurs(err)
		}
		return l, nil
	})
}
