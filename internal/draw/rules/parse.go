package rules

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
)

// rulesDocument is the JSON form of a rules document. A nil member is absent.
type rulesDocument struct {
	Win       *string            `json:"win"`
	Odds      *oddsDocument      `json:"odds"`
	Fallback  *string            `json:"fallback"`
	Guarantee *guaranteeDocument `json:"guarantee"`
	Limits    []limitDocument    `json:"limits"`
	Budget    *budgetDocument    `json:"budget"`
	Zone      *string            `json:"zone"`
	Tickets   bool               `json:"tickets"`
	Blocked   []string           `json:"blocked"`
	Disclose  bool               `json:"disclose"`
	Low       []lowDocument      `json:"low"`
	Claims    *claimsDocument    `json:"claims"`
}

type oddsDocument struct {
	Of     *int64           `json:"of"`
	Prizes map[string]int64 `json:"prizes"`
}

type guaranteeDocument struct {
	After *int64  `json:"after"`
	Prize *string `json:"prize"`
}

type limitDocument struct {
	Of    *string `json:"of"`
	Prize *string `json:"prize"`
	Max   *int64  `json:"max"`
	Per   *string `json:"per"`
}

type budgetDocument struct {
	Max *string `json:"max"`
	Per *string `json:"per"`
}

type claimsDocument struct {
	Within *string  `json:"within"`
	Prizes []string `json:"prizes"`
	Return *bool    `json:"return"`
}

type lowDocument struct {
	Prize *string `json:"prize"`
	Below *int64  `json:"below"`
}

// reading holds rules while their members are read in sequence.
type reading struct{ draw.Rules }

// Parse reads a rules document. An error has CodeInvalidRequest and names the member,
// its line and its column. [draw.Rules.Check] makes the checks that depend on the pool.
func Parse(b []byte) (*draw.Rules, error) {
	r, err := parseRules(b, draw.RulesMax)
	return r, Place(err, b)
}

// ParsePublished is Parse for a document of a public log.
func ParsePublished(b []byte) (*draw.Rules, error) { return parseRules(b, draw.PublishedMax) }

func parseRules(b []byte, bytesMax int) (*draw.Rules, error) {
	if len(b) > bytesMax {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "rules are larger than %d bytes", bytesMax)
	}
	if err := checkNoNull(b); err != nil {
		return nil, err
	}
	var d rulesDocument
	if err := json.Unmarshal(b, &d, json.RejectUnknownMembers(true)); err != nil {
		return nil, invalidJSON(err, b)
	}
	canonical := jsontext.Value(bytes.Clone(b))
	if err := canonical.Canonicalize(); err != nil {
		return nil, invalidJSON(err, b)
	}
	if err := arrange(&canonical); err != nil {
		return nil, invalidJSON(err, b)
	}
	r := &reading{}
	for _, read := range []func(*rulesDocument) error{
		r.readLaw, r.readGuarantee, r.readLimits, r.readBudget, r.readZone, r.readBlocked, r.readLow, r.readClaims,
	} {
		if err := read(&d); err != nil {
			return nil, err
		}
	}
	r.Tickets, r.Disclose = d.Tickets, d.Disclose
	if err := r.checkFallback(); err != nil {
		return nil, err
	}
	return draw.NewRules(r.Rules, canonical), nil
}

// checkNoNull refuses a document that is not a JSON object or that contains null. A
// member without a value is left out instead.
func checkNoNull(b []byte) error {
	in := jsontext.NewDecoder(bytes.NewReader(b))
	if in.PeekKind() != '{' {
		return draw.Errorf(draw.CodeInvalidRequest, "rules must be a JSON object")
	}
	for {
		token, err := in.ReadToken()
		if err != nil {
			// The document has ended, or its JSON is invalid: the decoder reports that.
			return nil //nolint:nilerr // Unmarshal meets the same error and names it
		}
		if token.Kind() == 'n' {
			return errorOfPointer(in.StackPointer(), "%s is null; leave it out")
		}
	}
}

// within checks a required number: it must be from low to high.
func within(member string, n *int64, low, high int64) (int64, error) {
	if n == nil {
		return 0, draw.ErrorOfMember(member, "is missing")
	}
	if *n < low || *n > high {
		return 0, draw.ErrorOfMember(member, "must be %d to %d", low, high)
	}
	return *n, nil
}

// prizeID checks a required id of a prize.
func prizeID(member string, id *string) (string, error) {
	if id == nil {
		return "", draw.ErrorOfMember(member, "is missing")
	}
	return *id, checkID(member, strconv.Quote(member), *id)
}

// checkID returns an error unless id may be the id of a prize; the parameter what is the
// word for it in the error. An id with a character that no id may have is often the name
// of a prize. The error then proposes an id that is made from the name.
func checkID(member, what, id string) error {
	e, refused := errors.AsType[*draw.Error](draw.CheckID(what, id))
	if !refused {
		return nil
	}
	e.Member = member
	if small := strings.ReplaceAll(strings.ToLower(id), " ", "-"); small != id && draw.CheckID(what, small) == nil {
		e.Detail += `; did you mean "` + small + `"?`
	}
	return e
}

// parseFraction reads a/b with 0 < a ≤ b ≤ FractionMax.
func parseFraction(member, s string) (draw.Fraction, error) {
	above, below, _ := strings.Cut(s, "/")
	a, ok := parseWhole(above)
	b, okToo := parseWhole(below)
	if !ok || !okToo || a > b {
		return draw.Fraction{}, draw.ErrorOfMember(member, "must be a fraction a/b such as \"1/20\", with 0 < a ≤ b ≤ %d", draw.FractionMax)
	}
	return draw.Fraction{A: a, B: b}, nil
}

// parseWhole reads 1 to FractionMax, without sign or leading zero.
func parseWhole(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 1 && n <= draw.FractionMax && strconv.FormatInt(n, 10) == s
}

// readLaw reads win, odds and fallback.
func (r *reading) readLaw(d *rulesDocument) (err error) {
	if d.Fallback != nil {
		if r.Fallback, err = prizeID("fallback", d.Fallback); err != nil {
			return err
		}
	}
	r.Win = draw.Fraction{A: 1, B: 1}
	if d.Win != nil {
		if r.Win, err = parseFraction("win", *d.Win); err != nil {
			return err
		}
	}
	if d.Odds == nil {
		return nil
	}
	if d.Win != nil {
		return draw.ErrorOfMember("win", "and \"odds\" exclude each other")
	}
	return r.readOdds(d.Odds)
}

func (r *reading) readOdds(d *oddsDocument) error {
	of, err := within("odds.of", d.Of, 1, draw.FractionMax)
	if err != nil {
		return err
	}
	if d.Prizes == nil {
		return draw.ErrorOfMember("odds.prizes", "is missing")
	}
	if len(d.Prizes) > draw.OddsMax {
		return draw.ErrorOfMember("odds.prizes", "names more than %d prizes", draw.OddsMax)
	}
	r.Odds = &draw.FixedOdds{Of: of}
	for id, share := range d.Prizes {
		member := "odds.prizes." + id
		if err := checkID(member, "the name of a member of \"odds.prizes\"", id); err != nil {
			return err
		}
		if _, err := within(member, &share, 0, of); err != nil {
			return err
		}
		if id == r.Fallback {
			return draw.ErrorOfMember(member, "is the fallback, which has what the others leave")
		}
		r.Odds.Prizes = append(r.Odds.Prizes, draw.FixedShare{PrizeID: id, Share: share})
	}
	slices.SortFunc(r.Odds.Prizes, func(a, b draw.FixedShare) int { return strings.Compare(a.PrizeID, b.PrizeID) })
	var sum int64 // at most OddsMax · FractionMax
	for _, p := range r.Odds.Prizes {
		sum += p.Share
	}
	if sum > of {
		return draw.ErrorOfMember("odds.prizes", "add up to %d, above \"odds.of\", which is %d", sum, of)
	}
	return nil
}

func (r *reading) readGuarantee(d *rulesDocument) error {
	if d.Guarantee == nil {
		return nil
	}
	after, err := within("guarantee.after", d.Guarantee.After, 0, draw.AfterMax)
	if err != nil {
		return err
	}
	id, err := prizeID("guarantee.prize", d.Guarantee.Prize)
	if err != nil {
		return err
	}
	r.Guarantee = &draw.Guarantee{After: after, PrizeID: id}
	return nil
}

func (r *reading) readLimits(d *rulesDocument) error {
	if len(d.Limits) > draw.LimitsMax {
		return draw.ErrorOfMember("limits", "has more than %d limits", draw.LimitsMax)
	}
	for i := range d.Limits {
		member := fmt.Sprintf("limits[%d]", i)
		l, err := readLimit(member, &d.Limits[i])
		if err != nil {
			return err
		}
		for j, other := range r.Limits {
			if other.Of == l.Of && other.By == l.By && other.PrizeID == l.PrizeID && other.Per.Same(l.Per) {
				return draw.ErrorOfMember(member, "limits the same as \"limits[%d]\"", j)
			}
		}
		r.Limits = append(r.Limits, l)
	}
	return nil
}

func readLimit(member string, d *limitDocument) (l draw.Limit, err error) {
	if d.Of == nil {
		return l, draw.ErrorOfMember(member+".of", "is missing")
	}
	switch l.Of = draw.LimitOf(*d.Of); l.Of {
	case draw.LimitPrize:
		if l.PrizeID, err = prizeID(member+".prize", d.Prize); err != nil {
			return l, err
		}
	case draw.LimitDraws, draw.LimitWins:
		if d.Prize != nil {
			return l, draw.ErrorOfMember(member+".prize", "belongs to a limit of \"prize\"")
		}
	default:
		return l, draw.ErrorOfMember(member+".of", "must be draws, wins or prize")
	}
	if l.Max, err = within(member+".max", d.Max, 1, draw.LimitMax); err != nil {
		return l, err
	}
	if d.Per != nil {
		l.Per, err = draw.ParsePer(member+".per", *d.Per)
	}
	return l, err
}

func (r *reading) readBudget(d *rulesDocument) error {
	if d.Budget == nil {
		return nil
	}
	if d.Budget.Max == nil {
		return draw.ErrorOfMember("budget.max", "is missing")
	}
	value, err := draw.ParseValue(*d.Budget.Max)
	if err != nil || *d.Budget.Max == "" {
		return draw.ErrorOfMember("budget.max", "must be an amount such as \"5000.00\", 0 to %s", draw.ValueMax())
	}
	r.Budget = &draw.Budget{Max: draw.Cents(value)}
	if d.Budget.Per == nil {
		return nil
	}
	if r.Budget.Per, err = draw.ParsePer("budget.per", *d.Budget.Per); err != nil || r.Budget.Per.Rolling() > 0 {
		return draw.ErrorOfMember("budget.per", "must be hour, day, week or month")
	}
	return nil
}

func (r *reading) readZone(d *rulesDocument) (err error) {
	r.Zone = time.UTC
	if d.Zone != nil {
		r.Zone, err = ParseZone(*d.Zone)
	}
	return err
}

func (r *reading) readBlocked(d *rulesDocument) error {
	if len(d.Blocked) > draw.BlockedMax {
		return draw.ErrorOfMember("blocked", "names more than %d users", draw.BlockedMax)
	}
	for i, user := range d.Blocked {
		member := fmt.Sprintf("blocked[%d]", i)
		if err := draw.CheckUser(user); err != nil {
			return draw.ErrorOfMember(member, "is no user: 1 to %d printable characters, no blank at either end", draw.UserMax)
		}
		if r.Blocked[user] {
			return draw.ErrorOfMember(member, "is there twice")
		}
		if r.Blocked == nil {
			r.Blocked = make(map[string]bool, len(d.Blocked))
		}
		r.Blocked[user] = true
	}
	return nil
}

func (r *reading) readLow(d *rulesDocument) error {
	for i := range d.Low {
		member := fmt.Sprintf("low[%d]", i)
		id, err := prizeID(member+".prize", d.Low[i].Prize)
		if err != nil {
			return err
		}
		below, err := within(member+".below", d.Low[i].Below, 1, draw.StockMax)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(r.Low, func(l draw.Low) bool { return l.PrizeID == id }) {
			return draw.ErrorOfMember(member+".prize", "is there twice")
		}
		r.Low = append(r.Low, draw.Low{PrizeID: id, Below: below})
	}
	return nil
}

func (r *reading) readClaims(d *rulesDocument) error {
	if d.Claims == nil {
		return nil
	}
	c := &draw.Claims{Return: d.Claims.Return == nil || *d.Claims.Return}
	if d.Claims.Within != nil {
		within, err := time.ParseDuration(*d.Claims.Within)
		if err != nil || within < draw.WithinMin || within > draw.WithinMax || within%draw.TimeStep != 0 {
			return draw.ErrorOfMember("claims.within", "must be a time such as 336h or 30m, 1s to 8760h")
		}
		c.Within = within
	}
	if d.Claims.Prizes != nil && len(d.Claims.Prizes) == 0 {
		return draw.ErrorOfMember("claims.prizes", "is empty; leave it out for all prizes")
	}
	for i := range d.Claims.Prizes {
		member := fmt.Sprintf("claims.prizes[%d]", i)
		id, err := prizeID(member, &d.Claims.Prizes[i])
		if err != nil {
			return err
		}
		if slices.Contains(c.Prizes, id) {
			return draw.ErrorOfMember(member, "is there twice")
		}
		c.Prizes = append(c.Prizes, id)
	}
	r.Claims = c
	return nil
}

// checkFallback refuses rules under which a draw may get no unit, but which name no
// fallback.
func (r *reading) checkFallback() error {
	if r.Fallback != "" {
		return nil
	}
	member := ""
	switch {
	case !r.Win.IsOne():
		member = "\"win\" below 1"
	case r.Odds != nil:
		member = "\"odds\""
	case r.Guarantee != nil:
		member = "\"guarantee\""
	case r.Budget != nil:
		member = "\"budget\""
	}
	for i, l := range r.Limits {
		if member == "" && l.Of != draw.LimitDraws {
			member = fmt.Sprintf("\"limits[%d]\", of %s,", i, l.Of)
		}
	}
	if member == "" {
		return nil
	}
	return draw.ErrorOfMember("fallback", "is missing: %s needs an endless blank to fall back to", member)
}

// memberOrder lists the members of a rules document in the order of their publication.
func memberOrder() []string {
	return []string{
		"win", "odds", "fallback", "guarantee", "limits", "budget", "zone", "tickets", "blocked", "disclose", "low", "claims",
	}
}

// partOrder returns the order of the members within a member's objects.
func partOrder(member string) []string {
	return map[string][]string{
		"odds":      {"of", "prizes"},
		"guarantee": {"after", "prize"},
		"limits":    {"of", "prize", "max", "per"},
		"budget":    {"max", "per"},
		"low":       {"prize", "below"},
		"claims":    {"within", "prizes", "return"},
	}[member]
}
