package draw

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"
	"golang.org/x/text/unicode/norm"
)

// State is whether a pool may be drawn from.
type State string

// The states of a pool. Paused and closed pools refuse new draws and answer known ones.
// Closed is final.
const (
	StateOpen   State = "open"
	StatePaused State = "paused"
	StateClosed State = "closed"
)

// Pool is an urn of units, as its operator sees it.
type Pool struct {
	ID    string
	Name  string
	State State
	// Mode is the pool's own lock mode; "" means the service's.
	Mode string
	// Version counts the entries of the pool's history: awards, moves and
	// changes. Revision is the version of the last change.
	Version, Revision int64
	// RulesVersion is the version of the change whose rules are in force, 0 for none.
	RulesVersion int64
	// Committed is the version of the change that committed the pool to its numbers, 0
	// for a pool with secret numbers.
	Committed int64
	// Rules are the initial rules of a new pool, nil for none. In a pool that was read
	// they are nil: see [Ruling].
	Rules *Rules
	// Round is the announced round of the beacon that the pool will open with, 0 for none;
	// RoundAt is when the beacon publishes it.
	Round   int64
	RoundAt time.Time
	// Archived hides a closed pool from lists.
	Archived bool
	// Currency is the currency of the values, for display only; "" for none.
	Currency string
	// Text is for players, for display only; "" for none.
	Text string
	// IsFair means that the pool has a public page of fairness.
	IsFair bool
	// Spent is the amount that was spent of the budget in force.
	Spent Spending
	// DueAt is when the next item of the pool's agenda is due, the zero time for
	// none.
	DueAt time.Time
	// Prizes are in the order in which they were added.
	Prizes []Prize
}

// Prize is one kind of unit in a pool.
type Prize struct {
	ID   string
	Name string
	// Kind never changes; "" means KindPrize.
	Kind Kind
	// Value is an amount of money, 0 to [ValueMax], exact to the cent.
	Value decimal.Decimal
	// Stocked is the number of units ever added, minus those withdrawn, 0 to
	// [StockMax].
	Stocked int64
	// Issued is the number of units drawn, 0 to Stocked.
	Issued int64
	// HasCodes reports whether each unit of the prize has a code; it never changes.
	// Places, if it was read, is the number of codes that the prize has, which is at
	// least Stocked.
	HasCodes bool
	Places   int64
	// Display holds the display texts of a prize that was read, nil for none.
	Display *Display
}

// ShownName returns the name that is shown of the prize.
func (p *Prize) ShownName() string {
	if p.Display != nil && p.Display.Name != "" {
		return p.Display.Name
	}
	return p.Name
}

// Kind is whether a unit of a prize is a win.
type Kind string

// The kinds. A blank is a losing ticket. Its value is 0.
const (
	KindPrize Kind = "prize"
	KindBlank Kind = "blank"
)

// EndlessStock is the stock of an endless blank. Such a blank is not in the urn. Rules
// can name it as their fallback, for draws that get no unit.
const EndlessStock = StockMax

// Reserve returns the number of codes that do not yet belong to a unit.
func (p *Prize) Reserve() int64 { return p.Places - p.Stocked }

// CheckCodes returns an error unless the prize has enough codes for a change of its
// stock. Error: CodeCodesMissing.
func (p *Prize) CheckCodes(delta int64) error {
	//double:stocks-on-trust p.Stocked+delta <= p.Places => true
	if !p.HasCodes || p.Stocked+delta <= p.Places {
		return nil
	}
	return Errorf(CodeCodesMissing, "prize %q has %d codes, and would have %d units", p.ID, p.Places, p.Stocked+delta)
}

// IsWin reports whether a unit of the prize is a win.
func (p *Prize) IsWin() bool { return p.Kind != KindBlank }

// IsEndless reports whether the prize is a blank without a stock of its own.
func (p *Prize) IsEndless() bool { return p.Kind == KindBlank && p.Stocked == EndlessStock }

// Remaining returns the number of units that can still be drawn.
func (p *Prize) Remaining() int64 { return p.Stocked - p.Issued }

// Level is how full a pool is.
type Level struct {
	PoolID string
	// Stocked and Issued are summed over the pool's prizes.
	Stocked, Issued int64
}

// Remaining returns the number of units that can still be drawn.
func (l *Level) Remaining() int64 { return l.Stocked - l.Issued }

// Stocking is a request to change one prize's stock.
type Stocking struct {
	PoolID  string
	PrizeID string
	// Delta is added to the prize's stock; it may be negative, but not 0.
	Delta  int64
	Reason string
	// Key, if not empty, makes the move happen once: a second move with the same key
	// returns the first move.
	Key string
}

// Move is the durable record of one change of stock.
type Move struct {
	// Version is the pool's version that this move made.
	Version int64
	PoolID  string
	PrizeID string
	Delta   int64
	Reason  string
	// Actor is who made the move, "" if a binary of an earlier schema did.
	Actor string
	// Key is the Idempotency-Key of the move, "" if it had none.
	Key string
	At  time.Time
	// Stocked and Issued are the prize's counts directly after the move.
	Stocked int64
	Issued  int64
	// IsEndless means that the move created an endless blank. Both counts are then
	// EndlessStock.
	IsEndless bool
	// Replayed means that the move had already happened under the same key.
	Replayed bool
}

// Audit is the result of reading all rows of one pool in one snapshot. It counts the rows
// themselves, and does not rely on stored counts.
type Audit struct {
	PoolID  string
	Version int64
	Prizes  []PrizeAudit
	// Violations lists the first violations of each rule. If a rule has more of them, an
	// additional entry states how many. Found is the number of all violations.
	Violations []Violation
	Found      int64
}

// OK reports whether no rule is broken.
func (a *Audit) OK() bool { return len(a.Violations) == 0 }

// PrizeAudit has one prize's counters and the count of its award rows.
type PrizeAudit struct {
	PrizeID string
	// IsEndless means that Stocked and Remaining belong to an endless blank.
	IsEndless bool
	Stocked   int64
	Issued    int64
	// Awards is the number of award rows of the prize.
	Awards    int64
	Remaining int64
	// OverIssued is the number of awards beyond stock, 0 if all is well.
	OverIssued int64
}

// Violation is one rule that the rows break.
type Violation struct {
	// Rule names the broken rule, such as "over-issued" or "version-gap".
	Rule string
	// Detail states where and by how much.
	Detail string
}

// Values of PoolFilter.Archived.
const (
	// ArchivedNot, the zero value, selects pools that are not archived.
	ArchivedNot Archived = iota
	// ArchivedToo selects all pools.
	ArchivedToo
	// ArchivedOnly selects archived pools.
	ArchivedOnly
)

// Archived selects pools by whether they are archived.
type Archived int

// PoolFilter selects the pools of a list.
type PoolFilter struct {
	// Words are words separated by blanks. The name or the id of a selected pool contains
	// each of them, ignoring case and accents. "" selects every name.
	Words string
	// State is the pool's state, "" for any.
	State    State
	Archived Archived
}

// Check returns CodeInvalidRequest if the words are longer than NameMax or not
// printable, or the state is unknown.
func (f *PoolFilter) Check() error {
	if f.Words != "" {
		if err := checkJoined("q", f.Words, NameMax); err != nil {
			return err
		}
	}
	if f.State == "" {
		return nil
	}
	return CheckState(f.State)
}

// Matcher returns a function that reports whether the filter selects a pool.
func (f *PoolFilter) Matcher() func(*Pool) bool {
	words := strings.Fields(plain(f.Words))
	return func(p *Pool) bool {
		isShown := f.Archived == ArchivedToo || p.Archived == (f.Archived == ArchivedOnly)
		if !isShown || f.State != "" && p.State != f.State {
			return false
		}
		if len(words) == 0 {
			return true
		}
		text := p.ID + " " + plain(p.Name)
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
	}
}

// plain returns a text in small letters without accents, so that e finds é, and é finds
// e.
func plain(text string) string {
	decomposed := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(text))
	return strings.ReplaceAll(decomposed, "ß", "ss")
}

// CopyDaysMax is the maximum number of days by which a copy shifts an agenda, forwards or
// backwards.
const CopyDaysMax = 36_600

// PoolCopy describes the copy of a pool.
type PoolCopy struct {
	ID, Name string
	// Days, if set, also copies the agenda: each item is moved by this number of calendar
	// days, and keeps its time of day.
	Days *int
	// Zone decides the time of day; nil means the zone of the rules: see ZoneOf.
	Zone *time.Location
}

// Check returns CodeInvalidRequest unless the copy may be made.
func (c *PoolCopy) Check() error {
	if err := CheckID("id", c.ID); err != nil {
		return err
	}
	if err := CheckName("name", c.Name); err != nil {
		return err
	}
	if c.Days != nil && (*c.Days < -CopyDaysMax || *c.Days > CopyDaysMax) {
		return Errorf(CodeInvalidRequest, "days must be from -%d to %d", CopyDaysMax, CopyDaysMax)
	}
	return nil
}

// ZoneOf returns the zone of the first of several rules that name one, UTC for none.
func ZoneOf(all ...*Rules) *time.Location {
	for _, r := range all {
		if r.NamesZone() {
			return r.Zone
		}
	}
	return time.UTC
}

// Shift returns the time of an item of the copy, at the same time of day in zone. If
// clocks show that time twice on the new day, it keeps its offset from UTC if possible.
// If clocks skip it, it is later by the length of the jump. In both cases, time.AddDate
// guarantees no such result.
func (c *PoolCopy) Shift(at time.Time, zone *time.Location) time.Time {
	at = at.In(zone)
	year, month, day := at.Date()
	wall := time.Date(year, month, day+*c.Days, at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.UTC)
	offset := func(t time.Time) time.Duration {
		_, seconds := t.In(zone).Zone()
		return time.Duration(seconds) * time.Second
	}
	before := offset(wall.AddDate(0, 0, -1))
	for _, o := range []time.Duration{offset(at), before, offset(wall.AddDate(0, 0, 1))} {
		if shifted := wall.Add(-o); offset(shifted) == o {
			return shifted.In(zone)
		}
	}
	return wall.Add(-before).In(zone)
}

// CopyOf returns the initial state of a copy: paused, with the prizes of p and their
// display texts. moved is the part of each prize's stock that the copy leaves out:
// returned units, and units from done items of the agenda, which the agenda of the copy
// adds again. A prize with codes begins without stock, because each code is given once.
// The page of fairness is off, and no commitment is copied. Error: CodeInvalidRequest for
// a prize that would begin with a negative stock, or with more than StockMax.
func (c *PoolCopy) CopyOf(p *Pool, rules *Rules, moved map[string]int64) (Pool, error) {
	to := Pool{ID: c.ID, Name: c.Name, State: StatePaused, Mode: p.Mode, Currency: p.Currency, Text: p.Text, Rules: rules}
	for i := range p.Prizes {
		prize := p.Prizes[i]
		prize.Issued, prize.Places = 0, 0
		switch {
		case prize.HasCodes:
			prize.Stocked = 0
		case !prize.IsEndless():
			if prize.Stocked -= moved[prize.ID]; prize.Stocked < 0 || prize.Stocked > StockMax {
				return Pool{}, Errorf(CodeInvalidRequest, "prize %q would begin with %d units: its stock is %d, and %d of that returned or were added by the agenda; "+
					"copy the pool without days, and plan its agenda", prize.ID, prize.Stocked, p.Prizes[i].Stocked, moved[prize.ID])
			}
		}
		to.Prizes = append(to.Prizes, prize)
	}
	return to, nil
}

// Limits of display texts.
const (
	// TextMax is the maximum length of a text for players, in characters.
	TextMax = 2000
	// AddressMax is the maximum length of the address of a picture or a link, in bytes.
	AddressMax = 2000
)

// Display holds the display texts of a prize: they affect no draw, create no version,
// and are in no log. An empty member is not shown.
type Display struct {
	// Name is shown to players in place of the prize's own.
	Name string
	Text string
	// Picture and Link are addresses of https.
	Picture, Link string
}

// DisplayChange is a request to change the display texts of a prize. Nil members do not
// change a text, and empty members remove it.
type DisplayChange struct{ Name, Text, Picture, Link *string }

// Check returns an error unless the change is valid and changes something.
func (c *DisplayChange) Check() error {
	if *c == (DisplayChange{}) {
		return Errorf(CodeInvalidRequest, "nothing to change: display has name, text, picture and link")
	}
	for _, part := range []struct {
		name  string
		value *string
		check func(what, s string) error
	}{{"display.name", c.Name, CheckName}, {"display.text", c.Text, CheckText}, {"display.picture", c.Picture, CheckAddress}, {"display.link", c.Link, CheckAddress}} {
		if part.value == nil || *part.value == "" {
			continue
		}
		if err := part.check(part.name, *part.value); err != nil {
			return err
		}
	}
	return nil
}

// Apply returns the display after the change.
func (c *DisplayChange) Apply(d Display) Display {
	for to, value := range map[*string]*string{&d.Name: c.Name, &d.Text: c.Text, &d.Picture: c.Picture, &d.Link: c.Link} {
		if value != nil {
			*to = *value
		}
	}
	return d
}

// CheckText returns an error unless s may be a text for players: 1 to TextMax printable
// characters, as in a name.
func CheckText(what, s string) error { return checkJoined(what, s, TextMax) }

// CheckAddress returns an error unless s is an absolute address of https in ASCII, without
// a user or a password, of at most AddressMax bytes.
func CheckAddress(what, s string) error {
	u, err := url.Parse(s)
	isAllowed := err == nil && len(s) <= AddressMax && utf8.ValidString(s) && strings.HasPrefix(s, "https://") && u.Hostname() != "" && u.User == nil
	if isAllowed && u.Port() != "" {
		_, err := strconv.ParseUint(u.Port(), 10, 16)
		isAllowed = err == nil
	}
	if !isAllowed || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"<>\\^`{|}", r) }) {
		return Errorf(CodeInvalidRequest, "%s must be an address that begins with https://, in ASCII, without a user, of at most %d bytes", what, AddressMax)
	}
	return nil
}
