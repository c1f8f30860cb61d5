package proof

import (
	"strconv"
	"time"

	"drawsvc/internal/draw"

	"github.com/go-json-experiment/json/jsontext"
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
