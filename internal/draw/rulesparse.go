package draw

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// rulesDocument is a rules document as it is written. A nil member is absent.
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

type lowDocument struct {
	Prize *string `json:"prize"`
	Below *int64  `json:"below"`
}

// ParseRules reads a rules document. An error has CodeInvalidRequest and names
// the member. What depends on the pool is checked by [Rules.Check].
func ParseRules(b []byte) (*Rules, error) { return parseRules(b, RulesMax) }

// ParsePublished is ParseRules for a document of a public log.
func ParsePublished(b []byte) (*Rules, error) { return parseRules(b, PublishedMax) }

func parseRules(b []byte, bytesMax int) (*Rules, error) {
	if len(b) > bytesMax {
		return nil, Errorf(CodeInvalidRequest, "rules are larger than %d bytes", bytesMax)
	}
	if err := checkNoNull(b); err != nil {
		return nil, err
	}
	var d rulesDocument
	if err := json.Unmarshal(b, &d, json.RejectUnknownMembers(true)); err != nil {
		return nil, invalidJSON(err)
	}
	canonical := jsontext.Value(bytes.Clone(b))
	if err := canonical.Canonicalize(); err != nil {
		return nil, invalidJSON(err)
	}
	if err := arrange(&canonical); err != nil {
		return nil, invalidJSON(err)
	}
	r := &Rules{document: canonical, digest: sha256.Sum256(canonical)}
	for _, read := range []func(*rulesDocument) error{
		r.readLaw, r.readGuarantee, r.readLimits, r.readBudget, r.readZone, r.readBlocked, r.readLow,
	} {
		if err := read(&d); err != nil {
			return nil, err
		}
	}
	r.Tickets, r.Disclose = d.Tickets, d.Disclose
	return r, r.checkFallback()
}

// checkNoNull refuses what is no JSON object, and null anywhere in it: a member
// is written or left out.
func checkNoNull(b []byte) error {
	in := jsontext.NewDecoder(bytes.NewReader(b))
	if in.PeekKind() != '{' {
		return Errorf(CodeInvalidRequest, "rules must be a JSON object")
	}
	for {
		token, err := in.ReadToken()
		if err != nil {
			// At the end, and in front of what is no JSON: the decoder says it.
			return nil //nolint:nilerr // Unmarshal meets the same error and names it
		}
		if token.Kind() == 'n' {
			return Errorf(CodeInvalidRequest, "%s is null; leave it out", memberOf(in.StackPointer()))
		}
	}
}

func invalidJSON(err error) error {
	semantic, _ := errors.AsType[*json.SemanticError](err)
	syntax, _ := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case semantic != nil && errors.Is(err, json.ErrUnknownName):
		return Errorf(CodeInvalidRequest, "unknown member %s", memberOf(semantic.JSONPointer))
	case semantic != nil:
		return Errorf(CodeInvalidRequest, "%s must be %s", memberOf(semantic.JSONPointer), wanted(semantic.GoType))
	case syntax != nil && errors.Is(err, jsontext.ErrDuplicateName):
		return Errorf(CodeInvalidRequest, "%s is there twice", memberOf(syntax.JSONPointer))
	case syntax != nil:
		return Errorf(CodeInvalidRequest, "rules are not valid JSON at byte %d", syntax.ByteOffset)
	}
	return Errorf(CodeInvalidRequest, "rules are not valid JSON")
}

func wanted(t reflect.Type) string {
	if t == nil {
		return "something else"
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Int64:
		return "a whole number, written without quotes, fraction or exponent"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	default:
		return "an object"
	}
}

// memberMax is how much of a member's name an error repeats, in bytes.
const memberMax = 100

// memberOf writes a JSON pointer as people write members: limits[2].max.
func memberOf(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		_, err := strconv.ParseUint(token, 10, 32)
		switch {
		case err == nil:
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	name := b.String()
	if len(name) > memberMax {
		name = strings.ToValidUTF8(name[:memberMax], "") + "…"
	}
	return strconv.Quote(name)
}

func errMember(member, format string, args ...any) error {
	return Errorf(CodeInvalidRequest, "%q %s", member, fmt.Sprintf(format, args...))
}

// within reads a number that has to be there, low to high.
func within(member string, n *int64, low, high int64) (int64, error) {
	if n == nil {
		return 0, errMember(member, "is missing")
	}
	if *n < low || *n > high {
		return 0, errMember(member, "must be %d to %d", low, high)
	}
	return *n, nil
}

// prizeID reads the id of a prize that has to be there.
func prizeID(member string, id *string) (string, error) {
	if id == nil {
		return "", errMember(member, "is missing")
	}
	return *id, CheckID(strconv.Quote(member), *id)
}

// parseFraction reads a/b with 0 < a ≤ b ≤ FractionMax.
func parseFraction(member, s string) (Fraction, error) {
	above, below, _ := strings.Cut(s, "/")
	a, ok := parseWhole(above)
	b, okToo := parseWhole(below)
	if !ok || !okToo || a > b {
		return Fraction{}, errMember(member, "must be a fraction a/b with 0 < a ≤ b ≤ %d", FractionMax)
	}
	return Fraction{A: a, B: b}, nil
}

// parseWhole reads 1 to FractionMax, without sign or leading zero.
func parseWhole(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 1 && n <= FractionMax && strconv.FormatInt(n, 10) == s
}

// readLaw reads win, odds and fallback.
func (r *Rules) readLaw(d *rulesDocument) (err error) {
	if d.Fallback != nil {
		if r.Fallback, err = prizeID("fallback", d.Fallback); err != nil {
			return err
		}
	}
	r.Win = Fraction{A: 1, B: 1}
	if d.Win != nil {
		if r.Win, err = parseFraction("win", *d.Win); err != nil {
			return err
		}
	}
	if d.Odds == nil {
		return nil
	}
	if d.Win != nil {
		return errMember("win", "and \"odds\" exclude each other")
	}
	return r.readOdds(d.Odds)
}

func (r *Rules) readOdds(d *oddsDocument) error {
	of, err := within("odds.of", d.Of, 1, FractionMax)
	if err != nil {
		return err
	}
	if d.Prizes == nil {
		return errMember("odds.prizes", "is missing")
	}
	if len(d.Prizes) > OddsMax {
		return errMember("odds.prizes", "names more than %d prizes", OddsMax)
	}
	r.Odds = &FixedOdds{Of: of}
	for id, share := range d.Prizes {
		member := "odds.prizes." + id
		if err := CheckID("the name of a member of \"odds.prizes\"", id); err != nil {
			return err
		}
		if _, err := within(member, &share, 0, of); err != nil {
			return err
		}
		if id == r.Fallback {
			return errMember(member, "is the fallback, which has what the others leave")
		}
		r.Odds.Prizes = append(r.Odds.Prizes, FixedShare{PrizeID: id, Share: share})
	}
	slices.SortFunc(r.Odds.Prizes, func(a, b FixedShare) int { return strings.Compare(a.PrizeID, b.PrizeID) })
	var sum int64 // at most OddsMax · FractionMax
	for _, p := range r.Odds.Prizes {
		sum += p.Share
	}
	if sum > of {
		return errMember("odds.prizes", "add up to %d, above \"odds.of\", which is %d", sum, of)
	}
	return nil
}

func (r *Rules) readGuarantee(d *rulesDocument) error {
	if d.Guarantee == nil {
		return nil
	}
	after, err := within("guarantee.after", d.Guarantee.After, 0, AfterMax)
	if err != nil {
		return err
	}
	id, err := prizeID("guarantee.prize", d.Guarantee.Prize)
	if err != nil {
		return err
	}
	r.Guarantee = &Guarantee{After: after, PrizeID: id}
	r.count(CountedMiss)
	return nil
}

func (r *Rules) readLimits(d *rulesDocument) error {
	if len(d.Limits) > LimitsMax {
		return errMember("limits", "has more than %d limits", LimitsMax)
	}
	for i := range d.Limits {
		member := fmt.Sprintf("limits[%d]", i)
		l, err := readLimit(member, &d.Limits[i])
		if err != nil {
			return err
		}
		for j, other := range r.Limits {
			if other.Of == l.Of && other.By == l.By && other.PrizeID == l.PrizeID && other.Per.same(l.Per) {
				return errMember(member, "limits the same as \"limits[%d]\"", j)
			}
		}
		r.Limits = append(r.Limits, l)
		r.count(l.Counted())
	}
	return nil
}

func readLimit(member string, d *limitDocument) (l Limit, err error) {
	if d.Of == nil {
		return l, errMember(member+".of", "is missing")
	}
	switch l.Of = LimitOf(*d.Of); l.Of {
	case LimitPrize:
		if l.PrizeID, err = prizeID(member+".prize", d.Prize); err != nil {
			return l, err
		}
	case LimitDraws, LimitWins:
		if d.Prize != nil {
			return l, errMember(member+".prize", "belongs to a limit of \"prize\"")
		}
	default:
		return l, errMember(member+".of", "must be draws, wins or prize")
	}
	if l.Max, err = within(member+".max", d.Max, 1, LimitMax); err != nil {
		return l, err
	}
	if d.Per != nil {
		l.Per, err = parsePer(fmt.Sprintf("%q", member+".per"), *d.Per)
	}
	return l, err
}

func (r *Rules) readBudget(d *rulesDocument) error {
	if d.Budget == nil {
		return nil
	}
	if d.Budget.Max == nil {
		return errMember("budget.max", "is missing")
	}
	value, err := ParseValue(*d.Budget.Max)
	if err != nil || *d.Budget.Max == "" {
		return errMember("budget.max", "must be an amount such as \"5000.00\", 0 to %s", ValueMax())
	}
	r.Budget = &Budget{Max: Cents(value)}
	if d.Budget.Per == nil {
		return nil
	}
	if r.Budget.Per, err = parsePer("\"budget.per\"", *d.Budget.Per); err != nil || r.Budget.Per.rolling > 0 {
		return errMember("budget.per", "must be hour, day, week or month")
	}
	return nil
}

func (r *Rules) readZone(d *rulesDocument) (err error) {
	r.Zone = time.UTC
	if d.Zone != nil {
		r.Zone, err = ParseZone(*d.Zone)
	}
	return err
}

func (r *Rules) readBlocked(d *rulesDocument) error {
	if len(d.Blocked) > BlockedMax {
		return errMember("blocked", "names more than %d users", BlockedMax)
	}
	for i, user := range d.Blocked {
		member := fmt.Sprintf("blocked[%d]", i)
		if err := CheckUser(user); err != nil {
			return errMember(member, "is no user: 1 to %d printable characters, no blank at either end", UserMax)
		}
		if r.Blocked[user] {
			return errMember(member, "is there twice")
		}
		if r.Blocked == nil {
			r.Blocked = make(map[string]bool, len(d.Blocked))
		}
		r.Blocked[user] = true
	}
	return nil
}

func (r *Rules) readLow(d *rulesDocument) error {
	for i := range d.Low {
		member := fmt.Sprintf("low[%d]", i)
		id, err := prizeID(member+".prize", d.Low[i].Prize)
		if err != nil {
			return err
		}
		below, err := within(member+".below", d.Low[i].Below, 1, StockMax)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(r.Low, func(l Low) bool { return l.PrizeID == id }) {
			return errMember(member+".prize", "is there twice")
		}
		r.Low = append(r.Low, Low{PrizeID: id, Below: below})
	}
	return nil
}

// checkFallback refuses rules that may leave a draw with nothing, and do not
// say what nothing is.
func (r *Rules) checkFallback() error {
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
		if member == "" && l.Of != LimitDraws {
			member = fmt.Sprintf("\"limits[%d]\", of %s,", i, l.Of)
		}
	}
	if member == "" {
		return nil
	}
	return errMember("fallback", "is missing: %s needs an endless blank to fall back to", member)
}
