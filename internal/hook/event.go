package hook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
)

// Type is the type of an event.
type Type string

// The types of events of the history, and of steps.
const (
	TypeWon          Type = "award.won"
	TypeLost         Type = "award.lost"
	TypeClaimed      Type = "award.claimed"
	TypeFulfilled    Type = "award.fulfilled"
	TypeReopened     Type = "award.reopened"
	TypeExpired      Type = "award.expired"
	TypeVoided       Type = "award.voided"
	TypeReplaced     Type = "award.replaced"
	TypeLow          Type = "prize.low"
	TypeEmpty        Type = "prize.empty"
	TypePoolEmpty    Type = "pool.empty"
	TypeAgendaFailed Type = "agenda.failed"
	TypeBudgetSpent  Type = "budget.spent"
	TypeOpened       Type = "pool.opened"
	TypePaused       Type = "pool.paused"
	TypeClosed       Type = "pool.closed"
)

// Types returns all types of events.
func Types() []Type {
	return []Type{
		TypeWon, TypeLost, TypeClaimed, TypeFulfilled, TypeReopened, TypeExpired, TypeVoided, TypeReplaced,
		TypeLow, TypeEmpty, TypePoolEmpty, TypeAgendaFailed, TypeBudgetSpent, TypeOpened, TypePaused, TypeClosed,
	}
}

// Place is a place among the events of a pool: a version of its history, and the number
// of a step.
type Place struct{ Version, Step int64 }

// Event is an event in a pool.
type Event struct {
	Type Type
	// At is the place that a cursor reaches when all events of this event's entry, or step,
	// have been sent.
	At Place
	// PrizeID is "" for events without a prize.
	PrizeID string
	// Time is the time of the entry.
	Time time.Time
	// Body is the JSON object that is sent.
	Body jsontext.Value
}

// body is the JSON object of an event, in the order of its members.
type body struct {
	ID      string `json:"id"`
	Type    Type   `json:"type"`
	At      string `json:"at"`
	Version int64  `json:"version,omitzero"`
	Step    int64  `json:"step,omitzero"`
	Award   int64  `json:"award,omitzero"`
	Draw    string `json:"draw,omitzero"`
	Ordinal int    `json:"ordinal,omitzero"`
	User    string `json:"user,omitzero"`
	Prize   string `json:"prize,omitzero"`
	Name    string `json:"name,omitzero"`
	Value   string `json:"value,omitzero"`
	Unit    int64  `json:"unit,omitzero"`
	// ClaimUntil is null if an award needs a claim but has no deadline.
	ClaimUntil jsontext.Value `json:"claim_until,omitzero"`
	Reference  string         `json:"reference,omitzero"`
	Returned   int64          `json:"returned,omitzero"`

	Remaining *int64 `json:"remaining,omitzero"`
	Item      int64  `json:"item,omitzero"`
	Why       string `json:"why,omitzero"`
	Spent     string `json:"spent,omitzero"`
	Max       string `json:"max,omitzero"`
	Actor     string `json:"actor,omitzero"`
}

// newID returns the id of an event, or of an entry. The id never changes. In another
// history it differs.
func newID(poolID, place, drawID, kind string, at time.Time) string {
	return hash("drawsvc event v1\n" + poolID + "\n" + place + "\n" + drawID + "\n" + kind + "\n" + at.UTC().Format(draw.TimeFormat))
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// placeOf returns the text that names the place of an entry in ids.
func placeOf(version int64) string { return "version " + strconv.FormatInt(version, 10) }

// EntryID returns the id of an entry of the history. A cursor stores it.
func EntryID(poolID string, e draw.Entry) string {
	kind, drawID := "move", ""
	switch {
	case e.Award != nil:
		kind, drawID = "award", e.Award.DrawID
	case e.Change != nil:
		kind = string(e.Change.What)
	}
	return newID(poolID, placeOf(e.Version()), drawID, "entry "+kind, e.At())
}

// Budgets reads values that depend on the history before an entry.
type Budgets interface {
	// LastRedirect returns the time of the last award before a version whose unit was
	// replaced because of a budget, the zero time for none.
	LastRedirect(ctx context.Context, version int64) (time.Time, error)
	// Spent returns the value, in cents, of the units issued from a time up to a version.
	Spent(ctx context.Context, from time.Time, version int64) (int64, error)
}

// Deriver derives events from the entries of a pool, in the order of their versions.
type Deriver struct {
	poolID  string
	prizes  map[string]*draw.Prize
	left    int64
	rules   *draw.Rules
	readsOf func(*draw.Change) *draw.Rules
	budgets Budgets
	events  []Event
}

// Start is the state of a pool before the first entry.
type Start struct {
	PoolID string
	// Prizes have the stock at that version. IssuedAll is the number of units of all prizes
	// that had been issued. A prize that is added later has stock 0.
	Prizes    []draw.Prize
	IssuedAll int64
	// Rules are the rules in force, nil for none. ReadRules reads the rules of a change.
	Rules     *draw.Rules
	ReadRules func(*draw.Change) *draw.Rules
	Budgets   Budgets
}

// NewDeriver returns a Deriver of the entries after a start.
func NewDeriver(s *Start) *Deriver {
	d := &Deriver{poolID: s.PoolID, prizes: map[string]*draw.Prize{}, left: -s.IssuedAll, rules: s.Rules, readsOf: s.ReadRules, budgets: s.Budgets}
	for i := range s.Prizes {
		d.prizes[s.Prizes[i].ID] = &s.Prizes[i]
		d.left += s.Prizes[i].Stocked
	}
	return d
}

// Derive returns the events of the next entry.
func (d *Deriver) Derive(ctx context.Context, e draw.Entry) ([]Event, error) {
	d.events = nil
	switch {
	case e.Award != nil:
		if err := d.deriveAward(ctx, e.Award); err != nil {
			return nil, err
		}
	case e.Move != nil:
		d.deriveMove(e.Move)
	default:
		d.deriveChange(e.Change)
	}
	return d.events, nil
}

// add adds an event of an entry.
func (d *Deriver) add(b body, version int64, drawID string, at time.Time) {
	b.Version = version
	d.events = append(d.events, newEvent(&b, d.poolID, placeOf(version), drawID, at))
}

// newEvent returns the event of a body. The page sets the event's place later.
func newEvent(b *body, poolID, place, drawID string, at time.Time) Event {
	b.ID, b.At = newID(poolID, place, drawID, string(b.Type), at), at.UTC().Format(draw.TimeFormat)
	text, err := json.Marshal(b)
	if err != nil { // the store contains only valid UTF-8
		text = jsontext.Value(`{"id":"` + b.ID + `","type":"` + string(b.Type) + `"}`)
	}
	return Event{Type: b.Type, PrizeID: b.Prize, Time: at, Body: text}
}

func (d *Deriver) deriveAward(ctx context.Context, a *draw.Award) error {
	b := body{Type: TypeWon, Award: a.Version, Draw: a.DrawID, Ordinal: a.Ordinal, User: a.UserID, Prize: a.PrizeID, Unit: a.Unit}
	p := d.prizes[a.PrizeID]
	if p != nil {
		b.Name, b.Value = p.Name, p.Value.StringFixed(2)
		if !p.IsWin() {
			b.Type = TypeLost
		}
	}
	if err := d.markClaim(&b, a); err != nil {
		return err
	}
	d.add(b, a.Version, a.DrawID, a.At)
	if r := a.Redirect; r != nil && r.Why == draw.WhyBudget && d.rules != nil && d.rules.Budget != nil {
		if err := d.deriveBudget(ctx, a); err != nil {
			return err
		}
	}
	d.left--
	if p != nil {
		d.deriveLevel(p, p.Stocked-a.Unit+1, p.Stocked-a.Unit, a.Version, a.DrawID, a.At)
	}
	return nil
}

// markClaim sets the deadline for claiming an award, by the rules at the award's version.
// Error: CodeRulesUnreadable, because the members of an event must never change.
func (d *Deriver) markClaim(b *body, a *draw.Award) error {
	if why := d.rules.Unreadable(); why != nil {
		return draw.Unreadable("the rules in force at version %d", why, a.Version)
	}
	claims := draw.ClaimsOf(d.rules)
	if b.Type != TypeWon || !claims.Cover(a.PrizeID) {
		return nil
	}
	b.ClaimUntil = jsontext.Value("null")
	if until := claims.Deadline(a, nil); !until.IsZero() {
		b.ClaimUntil = jsontext.Value(`"` + until.UTC().Format(draw.TimeFormat) + `"`)
	}
	return nil
}

// deriveBudget adds budget.spent for the first award of a budget's period whose unit the
// budget replaced.
func (d *Deriver) deriveBudget(ctx context.Context, a *draw.Award) error {
	from := d.rules.Budget.Per.Start(a.At, d.rules.Zone)
	last, err := d.budgets.LastRedirect(ctx, a.Version)
	if err != nil || !last.IsZero() && !last.Before(from) {
		return err
	}
	spent, err := d.budgets.Spent(ctx, from, a.Version)
	if err != nil {
		return err
	}
	d.add(body{Type: TypeBudgetSpent, Spent: draw.Amount(spent).StringFixed(2), Max: draw.Amount(d.rules.Budget.Max).StringFixed(2)}, a.Version, a.DrawID, a.At)
	return nil
}

func (d *Deriver) deriveMove(m *draw.Move) {
	d.left += m.Delta
	p := d.prizes[m.PrizeID]
	if p == nil {
		return
	}
	p.Stocked = m.Stocked
	left := m.Stocked - m.Issued
	d.deriveLevel(p, left-m.Delta, left, m.Version, "", m.At)
}

// deriveLevel adds the events of a falling level: an entry has lowered the number of
// remaining units of a prize.
func (d *Deriver) deriveLevel(p *draw.Prize, before, after, version int64, drawID string, at time.Time) {
	if p.IsEndless() || after >= before {
		return
	}
	level := func(t Type, prizeID string) {
		d.add(body{Type: t, Prize: prizeID, Remaining: &after}, version, drawID, at)
	}
	if d.rules != nil {
		for _, l := range d.rules.Low {
			if l.PrizeID == p.ID && before >= l.Below && after < l.Below {
				level(TypeLow, p.ID)
			}
		}
	}
	if after == 0 {
		level(TypeEmpty, p.ID)
	}
	if d.left == 0 {
		level(TypePoolEmpty, "")
	}
}

func (d *Deriver) deriveChange(c *draw.Change) {
	var said struct {
		State  draw.State `json:"state"`
		Item   int64      `json:"item"`
		Failed string     `json:"failed"`
	}
	if c.What == draw.WhatRules {
		d.rules = d.readsOf(c)
		return
	}
	if json.Unmarshal([]byte(c.Body), &said) != nil {
		return // a newer instance may write bodies of another form
	}
	states := map[draw.State]Type{draw.StateOpen: TypeOpened, draw.StatePaused: TypePaused, draw.StateClosed: TypeClosed}
	switch {
	case c.What == draw.WhatState || c.What == draw.WhatCreated && said.State == draw.StateOpen:
		if t, known := states[said.State]; known {
			d.add(body{Type: t, Actor: c.Actor}, c.Version, "", c.At)
		}
	case c.What == draw.WhatAgenda && said.Failed != "":
		d.add(body{Type: TypeAgendaFailed, Item: said.Item, Why: said.Failed}, c.Version, "", c.At)
	}
}
