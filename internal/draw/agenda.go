package draw

import (
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// AgendaMax is the maximum number of items that one request may plan. OpenItemsMax is the
// maximum number of open items of a pool.
const (
	AgendaMax    = 100_000
	OpenItemsMax = 1_000_000
)

// ItemLeftMax is the time for which an instance waits until another one carries out an
// item that it cannot read itself. It begins at the item's time. After that, the instance
// records the item as failed, so that the item no longer blocks the pool.
const ItemLeftMax = time.Minute

// ItemKind is the kind of change that an item of an agenda plans.
type ItemKind string

// The kinds of items.
const (
	ItemState ItemKind = "state"
	ItemRules ItemKind = "rules"
	ItemStock ItemKind = "stock"
	// ItemMoment is a winning moment: one unit that the first draw after its time gets.
	ItemMoment ItemKind = "moment"
)

// AgendaPart is a part of an agenda. Each part is read in its own order.
type AgendaPart string

// The parts of an agenda.
const (
	// AgendaDue are the open items that are not hidden, the next one first.
	AgendaDue AgendaPart = "due"
	// AgendaDone are the items that are done, the last one first.
	AgendaDone AgendaPart = "done"
	// AgendaHidden are the hidden items in their visible form, in order of their numbers.
	AgendaHidden AgendaPart = "hidden"
)

// AgendaPage selects a page of a part of an agenda.
type AgendaPage struct {
	Part AgendaPart
	// Kind selects the items of one kind; "" selects all kinds. Hidden items have no
	// kind.
	Kind ItemKind
	// WithoutStock leaves out open moves of stock. Their place among other items would
	// reveal when they are due, even without their times.
	WithoutStock bool
	// PrizeID selects the items of a prize, "" those of all prizes. From and To bound the
	// times of the items; a zero time does not bound them. From is included, To is not.
	PrizeID  string
	From, To time.Time
	// After is the number of the last item of the page before, 0 for the first page.
	After int64
	Limit int
}

// AgendaSums are the units that an agenda releases. Hidden items are not among them.
type AgendaSums struct {
	// First and Last are the times of the first and of the last item, zero for none.
	First, Last time.Time
	Sums        []AgendaSum
	// Omitted is the number of open moves of stock that were left out.
	Omitted int64
}

// AgendaSum is the sum over the items of a prize between two times.
type AgendaSum struct {
	// Span is the place of the items among the given times: the number of times that are
	// not after the items.
	Span    int
	PrizeID string
	// Items is the number of the items. Planned are the units of open items. Done are
	// those of items that were carried out, and Failed are those of items that failed.
	Items, Planned, Done, Failed int64
}

// AgendaSpansMax is the maximum number of times between which units are summed.
const AgendaSpansMax = 100

// Item is one item of a pool's agenda: a change that is planned for an instant.
type Item struct {
	// Number is the item's number in its pool, from 1. It is never used again.
	Number int64
	At     time.Time
	Kind   ItemKind
	// State belongs to a state item.
	State State
	// Rules are the rules of a rules item, nil to remove the rules.
	Rules *Rules
	// Stock is the move of a stock item or of a moment, without pool and key.
	Stock Stocking
	// Actor is who planned the item.
	Actor string
	// Done is the version of the entry that the item became, 0 while it is open.
	Done int64
	// Failed is the code of the reason why a done item could not be carried out, ""
	// otherwise. Only the list of an agenda sets it.
	Failed Code
	// Line is the item's line in the imported file, 0 for none.
	Line int
	// Replayed means that the item had already been planned under the same key.
	Replayed bool
	// Hidden is set for an entry that represents the hidden items of one prize that were
	// planned together. Such an entry has a number, and no other member of an item.
	Hidden *Hidden
	// unreadable is why the item could not be read; body is then its stored body.
	unreadable error
	body       string
}

// Hidden is the visible form of items of one prize that were planned together and are
// hidden until they are done.
type Hidden struct {
	PrizeID string
	// Count is the number of units that they release.
	Count int64
	// From and To are the span over which the items were spread, zero for an import.
	From, To time.Time
	// Version is the version of the change that planned the items. SHA256 is the seal of
	// everything that this change planned.
	Version int64
	SHA256  string
	// IsMoments means that they are moments; otherwise they are moves of stock.
	IsMoments bool
}

// Planned is the record of items that were planned together.
type Planned struct {
	// First is the number of the first item, and Version is the version of the change.
	First, Version int64
	Count          int
	// Seal is empty for a single item.
	Seal Seal
	// Replayed means that they had already been planned under the same key.
	Replayed bool
	// Encoding is the encoding of the imported file, "" if there was no file.
	Encoding Encoding
}

// Seal commits to a schedule before it runs. The service does not keep Salt: its holder
// can prove, together with the schedule, that the schedule was sealed.
type Seal struct{ Salt, SHA256 string }

// ItemDone is the body of the change that records an item that failed.
type ItemDone struct {
	Item int64 `json:"item"`
	// Failed is the code of the reason, and Detail is the reason as a sentence.
	Failed Code   `json:"failed"`
	Detail string `json:"detail"`
}

// Check returns an error unless the item may be planned. It leaves out the checks that
// depend on the pool. Error: CodeInvalidRequest.
func (i *Item) Check() error {
	if i.At.IsZero() || i.At.Year() < 1970 || i.At.Year() > 9999 {
		return Errorf(CodeInvalidRequest, "at is missing, or not a time from 1970 to 9999")
	}
	return i.checkPlan()
}

// checkPlan checks the planned change or move.
func (i *Item) checkPlan() error {
	switch i.Kind {
	case ItemState:
		return CheckState(i.State)
	case ItemStock:
		if err := CheckID("prize", i.Stock.PrizeID); err != nil {
			return err
		}
		return i.Stock.Check()
	case ItemMoment:
		return CheckID("moment", i.Stock.PrizeID)
	case ItemRules:
		return nil
	}
	return Errorf(CodeInvalidRequest, "an item has one of state, rules, moment, or prize with delta and reason")
}

// stockBody is the body of a stock item.
type stockBody struct {
	Prize  string `json:"prize"`
	Delta  int64  `json:"delta"`
	Reason string `json:"reason"`
}

// momentBody is the body of a moment.
type momentBody struct {
	Moment string `json:"moment"`
}

// MomentReason is the reason of the move that a moment becomes.
const MomentReason = "moment"

// AgendaReason is the reason of a planned move for which nobody has given one.
const AgendaReason = "agenda"

// ReasonAgain returns the reason with which a stored move can be planned again. Release
// 0.1.0 stored reasons of only blanks, which are refused now.
func ReasonAgain(stored string) string {
	if stored != "" && strings.TrimLeft(stored, " ") == "" {
		return AgendaReason
	}
	return stored
}

// MomentOf returns the move that a moment of a prize becomes.
func MomentOf(prizeID string) Stocking {
	return Stocking{PrizeID: prizeID, Delta: 1, Reason: MomentReason}
}

// Body returns the JSON object of the planned change or move.
func (i *Item) Body() string {
	if i.unreadable != nil {
		return i.body
	}
	switch i.Kind {
	case ItemState:
		return StateBody(i.State)
	case ItemRules:
		return RulesBody(i.Rules)
	case ItemMoment:
		body, _ := json.Marshal(momentBody{i.Stock.PrizeID}) // a checked text
		return string(body)
	case ItemStock:
	}
	body, _ := json.Marshal(stockBody{i.Stock.PrizeID, i.Stock.Delta, i.Stock.Reason}) // checked texts and a number
	return string(body)
}

// StateBody returns the body of an item of a state.
func StateBody(s State) string { return `{"state":"` + string(s) + `"}` }

// ReadBody sets the change or move of the item from a stored body. readRules reads the
// rules of a change. If this binary cannot read the body, the item keeps it: see
// [Item.Unreadable].
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
	case ItemMoment:
		var b momentBody
		err = json.Unmarshal([]byte(body), &b, json.RejectUnknownMembers(true))
		i.Stock = MomentOf(b.Moment)
	default:
		err = errors.New("the kind is unknown")
	}
	if err == nil { // a later release may plan items that this one cannot
		plan := *i
		plan.Stock.Reason = ReasonAgain(plan.Stock.Reason)
		err = plan.checkPlan()
	}
	if err != nil {
		i.unreadable, i.body = err, body
	}
}

// Unreadable returns why this binary cannot carry out the item, nil for an item that it
// has read. Error: CodeRulesUnreadable.
func (i *Item) Unreadable() error {
	if i.unreadable == nil {
		return nil
	}
	return Unreadable("item %d of the agenda", i.unreadable, i.Number)
}

// Shown returns the JSON object of an item with its time, as the history shows it. mark
// is the mark of the key under which the item was planned, "" for none.
func (i *Item) Shown(mark string) jsontext.Value {
	shown := `{"item":` + strconv.FormatInt(i.Number, 10) + `,"at":"` + i.At.UTC().Format(TimeFormat) + `",` + i.Body()[1:]
	if mark != "" {
		shown = strings.TrimSuffix(shown, "}") + `,"key":"` + mark + `"}`
	}
	return jsontext.Value(shown)
}

// NewSeal seals a schedule of stock items and moments. The hash is the SHA-256 of the
// salt, a line break, and the lines "at,prize,delta,reason" of the items as CSV, in their
// order. The line of a moment has a fifth field, "true".
func NewSeal(salt string, items []Item) Seal {
	sum := sha256.New()
	_, _ = io.WriteString(sum, salt+"\n") // a hash accepts everything
	lines := csv.NewWriter(sum)
	for i := range items {
		s := &items[i].Stock
		fields := []string{items[i].At.UTC().Format(TimeFormat), s.PrizeID, strconv.FormatInt(s.Delta, 10), s.Reason}
		if items[i].Kind == ItemMoment {
			fields = append(fields, "true")
		}
		_ = lines.Write(fields)
	}
	lines.Flush()
	return Seal{Salt: salt, SHA256: hex.EncodeToString(sum.Sum(nil))}
}

// MoveKey returns the key of the move that a stock item or a moment becomes. It contains
// a character that no caller's key may contain, so that the schema itself prevents an
// item from being carried out twice.
func (i *Item) MoveKey() string {
	prefix := itemKey
	if i.Kind == ItemMoment {
		prefix = momentKey
	}
	return prefix + strconv.FormatInt(i.Number, 10)
}

const (
	itemKey   = "\x1fitem "
	momentKey = "\x1fmoment "
)

// ItemOfKey returns the number of the stock item whose move has the key, 0 for other
// keys.
func ItemOfKey(key string) int64 { return numberAfter(itemKey, key) }

// Moment returns the number of the moment that became the move, 0 for other moves.
func (m *Move) Moment() int64 { return numberAfter(momentKey, m.Key) }

func numberAfter(prefix, key string) int64 {
	number, isItem := strings.CutPrefix(key, prefix)
	if !isItem {
		return 0
	}
	n, _ := strconv.ParseInt(number, 10, 64) // a text that is not a number belongs to no item
	return n
}

// Spread is a schedule of units of one prize over a span of time.
type Spread struct {
	PrizeID string
	Units   int64
	// From is the first instant of the span, and To is the first instant after it.
	From, To time.Time
	// Every is the time between two releases; 0 gives each unit a random instant.
	Every  time.Duration
	Reason string
	// IsMoments makes each unit a moment; then Reason has no meaning.
	IsMoments bool
}

// Items returns the items of the schedule, in order of their times. At fixed intervals,
// the units are distributed over the releases as equally as possible. For random
// instants, below returns the random numbers. Error: CodeInvalidRequest.
func (s *Spread) Items(below func(n int64) int64) ([]Item, error) {
	span := s.To.Sub(s.From)
	switch {
	case s.Units < 1 || s.Units > StockMax:
		return nil, Errorf(CodeInvalidRequest, "units must be a whole number from 1 to %d", StockMax)
	case span < TimeStep:
		return nil, Errorf(CodeInvalidRequest, "to must be behind from")
	case span == math.MaxInt64: // or more: Sub returns no larger value
		return nil, Errorf(CodeInvalidRequest, "to must be at most 292 years behind from")
	case s.Every < 0 || s.Every > 0 && s.Every < time.Second:
		return nil, Errorf(CodeInvalidRequest, "every must be 1s or more")
	case (s.Every == 0 || s.IsMoments) && s.Units > AgendaMax:
		return nil, Errorf(CodeInvalidRequest, "%d units by chance would be more than the %d items that can be planned at once", s.Units, AgendaMax)
	}
	var items []Item
	if s.Every == 0 {
		items = s.random(int64(span/TimeStep), below)
	} else {
		n := int64((span-1)/s.Every) + 1 // rounded up in this form, because the sum may exceed 64 bits
		if n > AgendaMax {
			return nil, Errorf(CodeInvalidRequest, "%d releases would be more than the %d items that can be planned at once", n, AgendaMax)
		}
		for i := range n {
			// The factors are multiplied in this order, because units times releases
			// may exceed 64 bits.
			share, rest := s.Units/n, s.Units%n
			units := share + (i+1)*rest/n - i*rest/n
			items = s.add(items, s.From.Add(time.Duration(i)*s.Every), units)
		}
	}
	for i := range items {
		if err := items[i].Check(); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// random gives each unit a random instant. Units with the same instant become one item.
func (s *Spread) random(steps int64, below func(n int64) int64) []Item {
	at := make([]int64, s.Units)
	for i := range at {
		at[i] = below(steps)
	}
	slices.SortFunc(at, cmp.Compare)
	var items []Item
	for i, when := range at {
		if i > 0 && when == at[i-1] && !s.IsMoments {
			items[len(items)-1].Stock.Delta++
			continue
		}
		items = s.add(items, s.From.Add(time.Duration(when)*TimeStep), 1)
	}
	return items
}

// add adds the items that release units at an instant: one item for all units, or one
// moment for each unit.
func (s *Spread) add(items []Item, at time.Time, units int64) []Item {
	switch {
	case units == 0:
		return items
	case s.IsMoments:
		for range units {
			items = append(items, Item{At: at, Kind: ItemMoment, Stock: MomentOf(s.PrizeID)})
		}
		return items
	}
	return append(items, Item{At: at, Kind: ItemStock, Stock: Stocking{PrizeID: s.PrizeID, Delta: units, Reason: s.Reason}})
}
