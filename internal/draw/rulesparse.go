package draw

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

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
