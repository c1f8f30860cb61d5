package proof

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

// Kind is the kind of a line of the log.
type Kind string

// The kinds of lines.
const (
	KindAward   Kind = "award"
	KindStock   Kind = "stock"
	KindPrize   Kind = "prize"
	KindCommit  Kind = "commit"
	KindOpening Kind = "opening"
	KindOpen    Kind = "open"
	KindPause   Kind = "pause"
	KindClose   Kind = "close"
	KindMode    Kind = "mode"
	KindRules   Kind = "rules"
	KindName    Kind = "name"
	KindCreated Kind = "created"
	KindArchive Kind = "archive"
	KindAgenda  Kind = "agenda"
	KindCodes   Kind = "codes"
	KindErased  Kind = "erased"
	KindSkip    Kind = "skip"
)

// Line is one line of a pool's public log. Its kind determines which members it has; all
// other members are zero.
type Line struct {
	Version int64
	At      time.Time
	Kind    Kind

	// PrizeID belongs to lines of the kinds award, stock, prize and codes.
	PrizeID string
	// The members from Unit to User belong to an award. Tags replace the names of its draw
	// and its user.
	Unit    int64
	Draw    string
	Ordinal int
	Count   int
	User    string
	// Redirect is nil if the rules did not replace the drawn unit.
	Redirect *draw.Redirect
	// Name is the new name of a prize or a pool. Value is the value of a prize, with two
	// decimals. The first stock line of a prize has both, later ones have neither.
	Name, Value string
	// IsBlank and IsEndless belong to the first stock line of a blank.
	IsBlank, IsEndless bool
	// Delta is a stock move; the line of an endless blank has no Delta.
	Delta int64
	// Reason belongs to lines of the kind stock, and may belong to pause and close. Salt is
	// 16 random bytes as unpadded base64url.
	Reason, Salt string
	// Item is the number of the moment that the stock line makes pending, 0 for other lines.
	Item int64
	// Hash is the hash of the commitment, in hexadecimal.
	Hash string
	// Round is the number of a round of the beacon. An opening line announces the round, and
	// an open line opens the pool with it. Signature is the round's signature; only an open
	// line has it.
	Round     int64
	Signature string
	// Mode is the lock mode that the pool sets, "" for the service's default.
	Mode string
	// Document is a document of rules, "null" for none.
	Document string
	// Items and SHA256 belong to an agenda, and to an import of codes. Dropped belongs to
	// codes that were dropped from the reserve.
	Items, Dropped int64
	SHA256         string
}

// isFirst reports whether a stock line adds its prize.
func (l *Line) isFirst() bool { return l.Name != "" }

// Append appends the line, with its end, in canonical form.
func (l *Line) Append(b []byte) []byte {
	w := writer{append(b, '{')}
	w.number("v", l.Version)
	w.at(l.At)
	w.text("kind", string(l.Kind))
	switch l.Kind {
	case KindAward:
		l.appendAward(&w)
	case KindStock:
		l.appendStock(&w)
	case KindPrize:
		w.text("prize", l.PrizeID)
		w.text("name", l.Name)
		w.text("value", l.Value)
	case KindCommit:
		w.text("hash", l.Hash)
	case KindMode:
		w.optional("mode", l.Mode)
	case KindRules:
		w.raw("document", l.Document)
	case KindName:
		w.text("name", l.Name)
	case KindAgenda:
		w.number("count", l.Items)
		w.text("sha256", l.SHA256)
	case KindCodes:
		w.text("prize", l.PrizeID)
		if l.Dropped != 0 {
			w.number("dropped", l.Dropped)
		} else {
			w.number("count", l.Items)
			w.text("sha256", l.SHA256)
		}
	case KindOpening:
		w.number("round", l.Round)
	case KindOpen:
		if l.Round != 0 {
			w.number("round", l.Round)
			w.text("signature", l.Signature)
		}
	case KindPause, KindClose:
		w.optional("reason", l.Reason)
	case KindCreated, KindArchive, KindErased, KindSkip:
	}
	return append(w.b, '}', '\n')
}

func (l *Line) appendAward(w *writer) {
	w.text("prize", l.PrizeID)
	w.number("unit", l.Unit)
	w.text("draw", l.Draw)
	w.number("n", int64(l.Ordinal))
	w.number("of", int64(l.Count))
	w.text("user", l.User)
	if r := l.Redirect; r != nil {
		if r.Drawn == "" {
			w.raw("drawn", "null")
		} else {
			w.text("drawn", r.Drawn)
		}
		w.text("why", string(r.Why))
	}
}

func (l *Line) appendStock(w *writer) {
	w.text("prize", l.PrizeID)
	if l.isFirst() {
		w.text("name", l.Name)
		w.text("value", l.Value)
		if l.IsBlank {
			w.text("class", string(draw.KindBlank))
		}
		if l.IsEndless {
			w.raw("endless", "true")
		}
	}
	if !l.IsEndless {
		w.number("delta", l.Delta)
	}
	w.text("reason", l.Reason)
	w.text("salt", l.Salt)
	if l.Item != 0 {
		w.number("item", l.Item)
	}
}

// writer writes the members of one object.
type writer struct{ b []byte }

func (w *writer) member(name string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(append(append(w.b, '"'), name...), '"', ':')
}

func (w *writer) raw(name, value string) {
	w.member(name)
	w.b = append(w.b, value...)
}

func (w *writer) number(name string, n int64) {
	w.member(name)
	w.b = strconv.AppendInt(w.b, n, 10)
}

func (w *writer) text(name, s string) {
	w.member(name)
	w.b, _ = jsontext.AppendQuote(w.b, s) // s is valid UTF-8, so this cannot fail
}

func (w *writer) at(t time.Time) {
	w.member("at")
	w.b = append(draw.AppendTime(append(w.b, '"'), t), '"')
}

func (w *writer) optional(name, s string) {
	if s != "" {
		w.text(name, s)
	}
}

// members are all members that a line of any kind may have.
type members struct {
	V        int64          `json:"v"`
	At       string         `json:"at"`
	Kind     Kind           `json:"kind"`
	Prize    string         `json:"prize"`
	Unit     int64          `json:"unit"`
	Draw     string         `json:"draw"`
	N        int            `json:"n"`
	Of       int            `json:"of"`
	User     string         `json:"user"`
	Drawn    jsontext.Value `json:"drawn"`
	Why      draw.Why       `json:"why"`
	Name     string         `json:"name"`
	Value    string         `json:"value"`
	Class    string         `json:"class"`
	Endless  bool           `json:"endless"`
	Delta    int64          `json:"delta"`
	Reason   string         `json:"reason"`
	Salt     string         `json:"salt"`
	Item     int64          `json:"item"`
	Hash     string         `json:"hash"`
	Round    int64          `json:"round"`
	Sig      string         `json:"signature"`
	Mode     string         `json:"mode"`
	Document jsontext.Value `json:"document"`
	Count    int64          `json:"count"`
	Dropped  int64          `json:"dropped"`
	SHA256   string         `json:"sha256"`
}

// LineMax is the maximum length of a line, in bytes. Lines with rules are the longest
// ones.
const LineMax = 4 * draw.RulesMax

// ParseLine reads one line with its end. Error: CodeInvalidRequest, also for a line that
// differs from the output of [Line.Append].
func ParseLine(b []byte) (*Line, error) {
	var m members
	if err := json.Unmarshal(b, &m, json.RejectUnknownMembers(true)); err != nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the line is no JSON object of known members")
	}
	at, err := time.Parse(draw.TimeFormat, m.At)
	if err != nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "at is not UTC with six decimals")
	}
	l := &Line{
		Version: m.V, At: at, Kind: m.Kind, PrizeID: m.Prize, Unit: m.Unit, Draw: m.Draw, Ordinal: m.N, Count: m.Of, User: m.User,
		Name: m.Name, Value: m.Value, IsBlank: m.Class == string(draw.KindBlank), IsEndless: m.Endless, Delta: m.Delta,
		Reason: m.Reason, Salt: m.Salt, Item: m.Item, Hash: m.Hash, Round: m.Round, Signature: m.Sig, Mode: m.Mode, Document: string(m.Document), Items: m.Count, Dropped: m.Dropped, SHA256: m.SHA256,
	}
	if m.Why != "" {
		l.Redirect = &draw.Redirect{Why: m.Why}
		if m.Drawn.Kind() != 'n' {
			if err := json.Unmarshal(m.Drawn, &l.Redirect.Drawn); err != nil || l.Redirect.Drawn == "" {
				return nil, draw.Errorf(draw.CodeInvalidRequest, "drawn is neither a prize nor null")
			}
		}
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	if !bytes.Equal(l.Append(make([]byte, 0, len(b))), b) {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the line is not in its one right form")
	}
	return l, nil
}

// check returns an error unless the members of the line's kind are in range.
func (l *Line) check() error {
	good := false
	switch l.Kind {
	case KindAward:
		good = l.checkAward()
	case KindStock:
		good = isID(l.PrizeID) && (!l.isFirst() || isLabel(l.Name) && isValue(l.Value)) && isLabel(l.Reason) && isTag(l.Salt) &&
			(l.IsBlank || !l.IsEndless) && (l.Item == 0 || l.Item > 0 && l.Delta == 1 && !l.isFirst())
	case KindPrize:
		good = isID(l.PrizeID) && isLabel(l.Name) && isValue(l.Value)
	case KindCommit:
		good = isHash(l.Hash)
	case KindRules:
		good = l.Document != "" && l.isArranged()
	case KindAgenda:
		good = l.Items > 0 && isHash(l.SHA256)
	case KindCodes:
		imported, dropped := l.Items > 0 && isHash(l.SHA256) && l.Dropped == 0, l.Dropped > 0 && l.Items == 0 && l.SHA256 == ""
		good = isID(l.PrizeID) && (imported || dropped)
	case KindName:
		good = isLabel(l.Name)
	case KindOpening:
		good = isRound(l.Round)
	case KindOpen:
		good = l.Round == 0 && l.Signature == "" || isRound(l.Round) && isSignature(l.Signature)
	case KindPause, KindClose:
		good = l.Reason == "" || isLabel(l.Reason)
	case KindMode, KindCreated, KindArchive, KindErased, KindSkip:
		good = true
	}
	if !good {
		return draw.Errorf(draw.CodeInvalidRequest, "a line of kind %q cannot have such members", cut(string(l.Kind), quoteMax))
	}
	return nil
}

func (l *Line) checkAward() bool {
	if r := l.Redirect; r != nil {
		switch r.Why {
		case draw.WhySoldOut, draw.WhyLimit, draw.WhyBudget, draw.WhyGuarantee, draw.WhyMoment:
		default:
			return false
		}
		if r.Drawn != "" && !isID(r.Drawn) {
			return false
		}
	}
	return isID(l.PrizeID) && l.Unit > 0 && l.Ordinal > 0 && l.Ordinal <= l.Count && l.Count <= draw.CountMax && isTag(l.Draw) && isTag(l.User)
}

// isArranged reports whether the document is null, or contains rules in canonical form in
// which tags replace the users.
func (l *Line) isArranged() bool {
	rules, err := l.Rules()
	if err != nil || rules == nil {
		return err == nil
	}
	for user := range rules.Blocked {
		if !isTag(user) {
			return false
		}
	}
	return rules.Document() == l.Document
}

// Rules returns the rules of the line's document, nil for none.
func (l *Line) Rules() (*draw.Rules, error) {
	if l.Document == "null" {
		return nil, nil //nolint:nilnil // no rules are what the document says
	}
	return rules.ParsePublished([]byte(l.Document))
}

func isID(s string) bool { return draw.CheckID("id", s) == nil }

// isLabel reports whether s may be a name or a reason in a line. The service is stricter;
// the verifier need not be, because no result depends on these texts.
func isLabel(s string) bool { return s != "" && utf8.RuneCountInString(s) <= draw.NameMax }

func isValue(s string) bool {
	v, err := draw.ParseValue(s)
	return err == nil && v.StringFixed(2) == s
}

// isTag reports whether s is 16 bytes as unpadded base64url in canonical form.
func isTag(s string) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return err == nil && len(b) == tagSize && len(s) == tagTextSize
}

func isRound(n int64) bool { return 0 < n && n <= RoundMax }

func isHash(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32 && hex.EncodeToString(b) == s
}
