package proof

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

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
