package draw

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// AgendaMax is the most items that are planned at once, and OpenItemsMax the
// most open ones of a pool.
const (
	AgendaMax    = 100_000
	OpenItemsMax = 1_000_000
)

// ItemLeftMax is how long after its time an item that an instance cannot read is left
// to one that can. Then it is done as failed, so that it blocks nobody for ever.
const ItemLeftMax = time.Minute

// ItemKind is what an item of an agenda plans.
type ItemKind string

// The kinds of items.
const (
	ItemState ItemKind = "state"
	ItemRules ItemKind = "rules"
	ItemStock ItemKind = "stock"
)

// Item is one item of a pool's agenda: what is planned for an instant.
type Item struct {
	// Number is the item's in its pool, from 1. It is never used again.
	Number int64
	At     time.Time
	Kind   ItemKind
	// State is that of a state item.
	State State
	// Rules are those of a rules item, nil to remove the rules.
	Rules *Rules
	// Stock is the move of a stock item, without pool and key.
	Stock Stocking
	// Actor is who planned the item.
	Actor string
	// Done is the version of the entry that the item became, 0 while it is open.
	Done int64
	// Line is that of the file that the item came from, 0 for none.
	Line int
	// Replayed says that the item had been planned already under the same key.
	Replayed bool
	// unreadable is why the item could not be read, and body what is stored then.
	unreadable error
	body       string
}

// Planned is the record of items that were planned together.
type Planned struct {
	// First is the number of the first item, Version that of the change.
	First, Version int64
	Count          int
	// Seal is empty for a single item.
	Seal Seal
	// Replayed says that they had been planned already under the same key.
	Replayed bool
}

// Seal commits to a schedule before it runs. Salt is not kept: with it, whoever
// knows the schedule can show that it is the one that was sealed.
type Seal struct{ Salt, SHA256 string }

// ItemDone is the body of the change that an item becomes which cannot be done.
type ItemDone struct {
	Item int64 `json:"item"`
	// Failed is the code of why, and Detail the sentence.
	Failed Code   `json:"failed"`
	Detail string `json:"detail"`
}

// Check reports whether the item may be planned, as far as that goes without
// the pool. Error: CodeInvalidRequest.
func (i *Item) Check() error {
	if i.At.IsZero() || i.At.Year() < 1970 || i.At.Year() > 9999 {
		return Errorf(CodeInvalidRequest, "at is missing, or not a time from 1970 to 9999")
	}
	switch i.Kind {
	case ItemState:
		return CheckState(i.State)
	case ItemStock:
		if err := CheckID("prize", i.Stock.PrizeID); err != nil {
			return err
		}
		return i.Stock.Check()
	case ItemRules:
		return nil
	}
	return Errorf(CodeInvalidRequest, "an item has one of state, rules, or prize with delta and reason")
}

// stockBody is the body of a stock item.
type stockBody struct {
	Prize  string `json:"prize"`
	Delta  int64  `json:"delta"`
	Reason string `json:"reason"`
}

// Body is the JSON object of what the item plans.
func (i *Item) Body() string {
	if i.unreadable != nil {
		return i.body
	}
	switch i.Kind {
	case ItemState:
		return StateBody(i.State)
	case ItemRules:
		return RulesBody(i.Rules)
	case ItemStock:
	}
	body, _ := json.Marshal(stockBody{i.Stock.PrizeID, i.Stock.Delta, i.Stock.Reason}) // checked texts and a number
	return string(body)
}

// StateBody is the body of an item of a state.
func StateBody(s State) string { return `{"state":"` + string(s) + `"}` }

// ReadBody fills in what a body of the item's kind plans; readRules reads the rules of a
// change. An item that this binary
// cannot read keeps its body: see [Item.Unreadable].
func (i *Item) ReadBody(body string, readRules func(*Change) (*Rules, bool)) {
	var err error
	switch i.Kind {
	case ItemState:
		var b struct {
			State State `json:"state"`
		}
		err = json.Unmarshal([]byte(body), &b, json.RejectUnknownMembers(true))
		i.State = b.State
	case ItemRules:
		i.Rules, _ = readRules(&Change{What: WhatRules, Body: body})
		err = i.Rules.Unreadable()
	case ItemStock:
		var b stockBody
		err = json.Unmarshal([]byte(body), &b, json.RejectUnknownMembers(true))
		i.Stock = Stocking{PrizeID: b.Prize, Delta: b.Delta, Reason: b.Reason}
	default:
		err = errors.New("the kind is unknown")
	}
	if err != nil {
		i.unreadable, i.body = err, body
	}
}

// Unreadable returns why this binary cannot do the item, nil for an item that it has
// read. Error: CodeRulesUnreadable.
func (i *Item) Unreadable() error {
	if i.unreadable == nil {
		return nil
	}
	return Unreadable("item %d of the agenda", i.unreadable, i.Number)
}

// Shown is the JSON object of an item with its time, as the history shows what
// was planned; mark, unless it is "", is that of the key that it was planned under.
func (i *Item) Shown(mark string) jsontext.Value {
	shown := `{"item":` + strconv.FormatInt(i.Number, 10) + `,"at":"` + i.At.UTC().Format(TimeFormat) + `",` + i.Body()[1:]
	if mark != "" {
		shown = strings.TrimSuffix(shown, "}") + `,"key":"` + mark + `"}`
	}
	return jsontext.Value(shown)
}

// NewSeal seals a schedule of stock items: the SHA-256 of the salt and a line
// break, and behind them the lines "at,prize,delta,reason" of the items, as CSV
// and in their order.
func NewSeal(salt string, items []Item) Seal {
	sum := sha256.New()
	_, _ = io.WriteString(sum, salt+"\n") // a hash takes everything
	lines := csv.NewWriter(sum)
	for i := range items {
		s := &items[i].Stock
		_ = lines.Write([]string{items[i].At.UTC().Format(TimeFormat), s.PrizeID, strconv.FormatInt(s.Delta, 10), s.Reason})
	}
	lines.Flush()
	return Seal{Salt: salt, SHA256: hex.EncodeToString(sum.Sum(nil))}
}

// MoveKey is the key of the move that a stock item becomes. It holds a
// character that no caller's key may hold, so that the schema itself keeps an
// item from being done twice.
func (i *Item) MoveKey() string { return itemKey + strconv.FormatInt(i.Number, 10) }

const itemKey = "\x1fitem "

// ItemOfKey is the number of the item whose move has a key, 0 for other keys.
func ItemOfKey(key string) int64 {
	number, isItem := strings.CutPrefix(key, itemKey)
	if !isItem {
		return 0
	}
	n, _ := strconv.ParseInt(number, 10, 64) // what is no number is no item
	return n
}

// ParseTime reads a time as callers write it: RFC 3339, with the offset of any
// zone. Error: CodeInvalidRequest.
func ParseTime(what, s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, Errorf(CodeInvalidRequest, "%s must be a time as RFC 3339 has it, such as 2026-12-24T17:00:00Z", what)
	}
	return t.UTC(), nil
}
