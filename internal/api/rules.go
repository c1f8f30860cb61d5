package api

import (
	"context"
	"errors"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/odds"
	"drawsvc/internal/draw/rules"
)

// Rules are the rules of a pool at a version.
type Rules struct {
	Pool    string `json:"pool"`
	Version int64  `json:"version"`
	// SHA256 and Rules are null if the version removed the rules.
	SHA256 *string        `json:"sha256"`
	Actor  string         `json:"actor"`
	At     string         `json:"at"`
	Rules  jsontext.Value `json:"rules"`
	// Words are the rules as sentences, even if the version removed them.
	Words []string `json:"words"`
}

// ShowRules converts the rules at a version to their response type. Their words use the
// names of the pool's prizes.
func ShowRules(r *draw.Ruling, of *draw.Pool) Rules {
	shown := Rules{Pool: r.PoolID, Version: r.Version, Actor: r.Actor, At: ShowTime(r.At), Words: tellRules(r.Rules, of)}
	if r.Rules != nil {
		shown.SHA256, shown.Rules = new(r.Rules.SHA256()), jsontext.Value(r.Rules.Document())
	}
	return shown
}

func tellRules(r *draw.Rules, of *draw.Pool) []string {
	return rules.Words(r, rules.Telling{Name: rules.NamesOf(of.Prizes), Currency: of.Currency})
}

// CheckedRules are rules that fit a pool, but are not in force.
type CheckedRules struct {
	Pool   string         `json:"pool"`
	SHA256 string         `json:"sha256"`
	Rules  jsontext.Value `json:"rules"`
	Words  []string       `json:"words"`
}

// ShowChecked converts rules that fit a pool to their response type.
func ShowChecked(r *draw.Rules, of *draw.Pool) CheckedRules {
	return CheckedRules{Pool: of.ID, SHA256: r.SHA256(), Rules: jsontext.Value(r.Document()), Words: tellRules(r, of)}
}

// Read returns the rules, nil if the version removed them. Rules of a later release
// refuse every draw: see [rules.Read].
func (b *Rules) Read() *draw.Rules {
	if b.SHA256 == nil {
		return nil
	}
	return rules.Read(b.Rules)
}

// Limit is a limit in the form of the rules document. Without per, it is for unlimited
// time.
type Limit struct {
	Of    draw.LimitOf `json:"of"`
	Prize string       `json:"prize,omitempty"`
	Max   int64        `json:"max"`
	Per   *string      `json:"per"`
}

// ShowLimit converts a limit to its response type.
func ShowLimit(l *draw.Limit) Limit {
	shown := Limit{Of: l.Of, Prize: l.PrizeID, Max: l.Max}
	if !l.Per.IsEver() {
		shown.Per = new(l.Per.String())
	}
	return shown
}

// Odds are the chances of a pool's next draw.
type Odds struct {
	Version int64    `json:"version"`
	Law     odds.Law `json:"law"`
	Win     string   `json:"win"`
	Odds    []Chance `json:"odds"`
	None    string   `json:"none"`
	// Guarantee is null for rules without one.
	Guarantee *Guarantee `json:"guarantee"`
	// Moments means that a draw may also get a prize by a winning moment. The odds do not
	// include that.
	Moments bool `json:"moments,omitzero"`
}

// Chance is the chance of one prize, as a fraction.
type Chance struct {
	Prize  string `json:"prize"`
	Chance string `json:"chance"`
}

// Guarantee is a guaranteed prize.
type Guarantee struct {
	After int64  `json:"after"`
	Prize string `json:"prize"`
	// Rate is null if the rate has no exact value.
	Rate *string `json:"rate"`
}

// ShowOdds converts odds to their response type. Chances are fractions a/b in lowest
// terms, including 0/1 and 1/1.
func ShowOdds(o *odds.Statement) Odds {
	shown := Odds{
		Version: o.Version, Law: o.Law, Win: o.Win.String(), None: o.None.String(), Moments: o.HasMoments,
		Odds: ShowEach(o.Odds, func(c *odds.Chance) Chance { return Chance{c.PrizeID, c.Chance.String()} }),
	}
	if g := o.Guarantee; g != nil {
		shown.Guarantee = &Guarantee{After: g.After, Prize: g.PrizeID}
		if g.Rate != nil {
			shown.Guarantee.Rate = new(g.Rate.String())
		}
	}
	return shown
}

// ReadFraction parses a chance in a response.
func ReadFraction(text string) (*big.Rat, error) {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, notOurs(errors.New("a chance is no fraction"))
	}
	return r, nil
}

// Refused is the refusal that a user's draw would get now.
type Refused struct {
	Refused draw.Code `json:"refused"`
	Detail  string    `json:"detail"`
	// Limit and RetryAt are set for limit-reached. RetryAt is null if the limit never allows
	// the draw.
	Limit   *Limit  `json:"limit"`
	RetryAt *string `json:"retry_at"`
}

// gates returns the codes by which rules may refuse a draw.
func gates() []draw.Code {
	return []draw.Code{draw.CodePoolNotOpen, draw.CodePaused, draw.CodeTicketRequired, draw.CodeTicketExpired, draw.CodeUserBlocked, draw.CodeLimitReached, draw.CodeSoldOut}
}

// ShowRefused converts err to its response type if it is a refusal by the rules. ok is
// false for any other error.
func ShowRefused(err error) (shown Refused, ok bool) {
	e, isNamed := errors.AsType[*draw.Error](err)
	if !isNamed || !slices.Contains(gates(), e.Code) {
		return shown, false
	}
	shown = Refused{Refused: e.Code, Detail: e.Detail}
	if r := e.Reached; r != nil {
		shown.Limit, shown.RetryAt = new(ShowLimit(&r.Limit)), ShowTimeOrNull(r.RetryAt)
	}
	return shown, true
}

// OddsOrRefusal is the response of GET …/odds. It is a refusal if it has the code of one.
type OddsOrRefusal struct {
	Odds
	Refused
}

// IsRefusal reports whether the response is a refusal.
func (o *OddsOrRefusal) IsRefusal() bool { return o.Refused.Refused != "" }

// Rules returns the rules of a version, or the rules in force for version 0. Errors:
// CodePoolNotFound, CodeNotFound.
func (c *Client) Rules(ctx context.Context, poolID string, version int64) (Rules, error) {
	path := poolPath(poolID, "rules")
	if version != 0 {
		path += "?version=" + strconv.FormatInt(version, 10)
	}
	return see[Rules](ctx, c, path)
}

// SetRules puts a document in force; "" removes the rules. If versions is not nil, the
// version of the current rules must be among them. Errors: CodeInvalidRequest,
// CodePoolNotFound, CodeNotFound, CodeRulesChanged.
func (c *Client) SetRules(ctx context.Context, poolID, document string, versions []int64) (Rules, error) {
	call := newCall(http.MethodDelete, poolPath(poolID, "rules"))
	if document != "" {
		call.Method, call.ContentType, call.Body = http.MethodPut, typeJSON, []byte(document)
	}
	call.IfMatch = matching(versions)
	return fetch[Rules](ctx, c, call)
}

// Odds returns the chances of a pool's next draw by a user, or by anybody if userID is
// "". Error: CodePoolNotFound.
func (c *Client) Odds(ctx context.Context, poolID, userID string) (OddsOrRefusal, error) {
	path := poolPath(poolID, "odds")
	if userID != "" {
		path += "?" + url.Values{"user": {userID}}.Encode()
	}
	return see[OddsOrRefusal](ctx, c, path)
}
