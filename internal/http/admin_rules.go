package http

import (
	"context"
	"errors"
	"math/big"
	nethttp "net/http"
	"net/url"
	"strconv"

	"drawsvc/client"
	"drawsvc/internal/draw"
	"drawsvc/internal/draw/odds"
)

var (
	_ Ruler = (*Admin)(nil)
	_ Odds  = (*Admin)(nil)
)

// Rules implements Ruler.
func (a *Admin) Rules(ctx context.Context, poolID string, version int64) (draw.Ruling, error) {
	path := poolPath(poolID, "rules")
	if version != 0 {
		path += "?version=" + strconv.FormatInt(version, 10)
	}
	found, err := see[rulesAnswer](ctx, a, path)
	if err != nil {
		return draw.Ruling{}, err
	}
	return found.ruling()
}

// SetRules implements Ruler.
func (a *Admin) SetRules(ctx context.Context, poolID string, rules *draw.Rules, versions []int64, _ string) (draw.Ruling, error) {
	c := client.Call{Method: nethttp.MethodDelete, Path: poolPath(poolID, "rules"), IfMatch: matching(versions)}
	if rules != nil {
		c.Method, c.ContentType, c.Body = nethttp.MethodPut, "application/json", []byte(rules.Document())
	}
	set, err := fetch[rulesAnswer](ctx, a, c)
	if err != nil {
		return draw.Ruling{}, err
	}
	return set.ruling()
}

// ruling reads the answer.
func (b *rulesAnswer) ruling() (draw.Ruling, error) {
	at, err := readTime(b.At)
	if err != nil {
		return draw.Ruling{}, err
	}
	r := draw.Ruling{PoolID: b.Pool, Version: b.Version, Actor: b.Actor, At: at}
	if b.SHA256 == nil {
		return r, nil
	}
	r.Rules = draw.ReadRules(b.Rules) // the service may be of a later release
	return r, nil
}

// Odds implements Odds.
func (a *Admin) Odds(ctx context.Context, poolID, userID string) (odds.Statement, error) {
	path := poolPath(poolID, "odds")
	if userID != "" {
		path += "?" + url.Values{"user": {userID}}.Encode()
	}
	found, err := see[struct {
		oddsAnswer
		refusedAnswer
	}](ctx, a, path)
	switch {
	case err != nil:
		return odds.Statement{}, err
	case found.Refused != "":
		return odds.Statement{}, found.refusal()
	}
	return found.statement()
}

// refusal reads the answer.
func (b *refusedAnswer) refusal() error {
	refused := &draw.Error{Code: b.Refused, Detail: b.Detail}
	if b.Limit == nil {
		return refused
	}
	limit, err := b.Limit.limit()
	if err != nil {
		return err
	}
	at, err := readTimeOrNull(b.RetryAt)
	if err != nil {
		return err
	}
	refused.Reached = &draw.Reached{Limit: limit, RetryAt: at}
	return refused
}

// limit reads a limit of an answer.
func (b *limitAnswer) limit() (draw.Limit, error) {
	l := draw.Limit{Of: b.Of, PrizeID: b.Prize, Max: b.Max}
	if b.Per == nil {
		return l, nil
	}
	var err error
	if l.Per, err = draw.ParsePer(*b.Per); err != nil {
		return l, notOurs(err)
	}
	return l, nil
}

// statement reads the answer.
func (b *oddsAnswer) statement() (o odds.Statement, err error) {
	o = odds.Statement{Version: b.Version, Law: b.Law}
	if o.Win, err = readFraction(b.Win); err != nil {
		return o, err
	}
	if o.None, err = readFraction(b.None); err != nil {
		return o, err
	}
	o.Odds, err = readEach(b.Odds, func(c *chanceAnswer) (odds.Chance, error) {
		chance, err := readFraction(c.Chance)
		return odds.Chance{PrizeID: c.Prize, Chance: chance}, err
	})
	if err != nil || b.Guarantee == nil {
		return o, err
	}
	o.Guarantee = &odds.GuaranteeOdds{Guarantee: draw.Guarantee{After: b.Guarantee.After, PrizeID: b.Guarantee.Prize}}
	if b.Guarantee.Rate != nil {
		o.Guarantee.Rate, err = readFraction(*b.Guarantee.Rate)
	}
	return o, err
}

func readFraction(text string) (*big.Rat, error) {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, notOurs(errors.New("a chance is no fraction"))
	}
	return r, nil
}

// Standing says where a user stands under the rules of a pool. Errors:
// CodePoolNotFound, CodeUserNotCounted.
func (a *Admin) Standing(ctx context.Context, poolID, userID string) (draw.Standing, error) {
	found, err := see[userAnswer](ctx, a, path("pools", poolID, "users", userID))
	if err != nil {
		return draw.Standing{}, err
	}
	s := draw.Standing{Misses: found.Misses, Blocked: found.Blocked}
	if found.GuaranteedIn != nil {
		s.GuaranteedIn = *found.GuaranteedIn
	}
	s.Limits, err = readEach(found.Limits, func(b *userLimitAnswer) (l draw.LimitStanding, err error) {
		l.Used, l.Left = b.Used, b.Left
		if l.Limit, err = b.limit(); err != nil {
			return l, err
		}
		l.ResetsAt, err = readTimeOrNull(b.ResetsAt)
		return l, err
	})
	return s, err
}
