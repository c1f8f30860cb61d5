package draw

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Limits of a rules document.
const (
	// RulesMax is the maximum size of a document as it is received, in bytes.
	RulesMax = 64 << 10
	// PublishedMax is the maximum size of a document of a public log, in bytes. There
	// each blocked user is replaced by a tag, which may be longer than the user's name.
	PublishedMax = 2 * RulesMax
	// LimitsMax is the maximum number of limits of a document.
	LimitsMax = 16
	// LimitMax is the maximum value of Max in a limit.
	LimitMax = 1_000_000
	// BlockedMax is the maximum number of users that a document blocks.
	BlockedMax = 1000
	// OddsMax is the maximum number of prizes in odds.
	OddsMax = 1000
	// FractionMax is the maximum denominator of a fraction.
	FractionMax = 1_000_000_000
	// AfterMax is the maximum number of misses before a guarantee.
	AfterMax = 100_000
)

// Rules is a parsed rules document, which decides the draws of a pool together with its
// stock. It never changes after parsing. A nil *Rules means no rules.
type Rules struct {
	// Win is the chance that a draw takes a unit of the urn, 1 if the document states
	// none. It is 1 under the fixed law.
	Win Fraction
	// Odds belong to the fixed law, nil under the stock law.
	Odds *FixedOdds
	// Fallback is the id of the endless blank that a draw without a unit gets, "" for
	// none.
	Fallback string
	// Guarantee is nil for none.
	Guarantee *Guarantee
	Limits    []Limit
	// Budget is nil for none.
	Budget *Budget
	// Zone decides where the windows of the calendar begin; UTC if the document names
	// none.
	Zone *time.Location
	// Tickets means that a draw needs a ticket.
	Tickets bool
	// Blocked are the users that may not draw.
	Blocked map[string]bool
	// Disclose means that players may read the odds.
	Disclose bool
	Low      []Low
	// Claims state which awards have to be claimed, nil for none.
	Claims *Claims
	// Version is the version of the change that put the rules in force, 0 for a
	// document that is not in force.
	Version int64

	document []byte
	digest   [sha256.Size]byte
	counted  []Counted
	// unreadable is why the document could not be read, nil if it was read. statesBudget
	// reports whether an unreadable document has a budget.
	unreadable   error
	statesBudget bool
}

// Fraction is a/b with 0 < a ≤ b ≤ FractionMax. It is not reduced, because a draw takes a
// random number below b: with 2/4 it takes another number than with 1/2.
type Fraction struct{ A, B int64 }

// IsOne reports whether a equals b.
func (f Fraction) IsOne() bool { return f.A == f.B }

// String returns a/b.
func (f Fraction) String() string {
	return strconv.FormatInt(f.A, 10) + "/" + strconv.FormatInt(f.B, 10)
}

// Rat returns the fraction's value.
func (f Fraction) Rat() *big.Rat { return big.NewRat(f.A, f.B) }

// FixedOdds is the fixed law. Of is the number of equal shares in all. Each prize has
// some of them, and the fallback has the rest. Shares are in the order of the prizes'
// ids.
type FixedOdds struct {
	Of     int64
	Prizes []FixedShare
}

// FixedShare is the number of shares that a prize has in fixed odds, from 0 to their Of.
type FixedShare struct {
	PrizeID string
	Share   int64
}

// Guarantee gives PrizeID to a user who missed After times in a row, as long as that
// prize has units. After is 0 to AfterMax.
type Guarantee struct {
	After   int64
	PrizeID string
}

// Limit bounds the number of turns of one kind in a window.
type Limit struct {
	Of LimitOf
	// By determines the subjects of the limit.
	By By
	// PrizeID is set if Of is LimitPrize.
	PrizeID string
	// Max is 1 to LimitMax.
	Max int64
	Per Per
}

// LimitOf is the kind of turns that a limit counts.
type LimitOf string

// The things that limits count: requested units, awards of kind prize, awards of one
// prize.
const (
	LimitDraws LimitOf = "draws"
	LimitWins  LimitOf = "wins"
	LimitPrize LimitOf = "prize"
)

// Budget is the maximum value, in cents, that may be issued in a window of the calendar,
// or in all.
type Budget struct {
	Max int64
	Per Per
}

// Low requests a warning when fewer than Below units of a prize remain.
type Low struct {
	PrizeID string
	Below   int64
}

// LowPrize is a prize with fewer than Below remaining units.
type LowPrize struct {
	PoolID, PrizeID  string
	Remaining, Below int64
}

// LowOf returns the pool's prizes that the rules warn of, in their order.
func (r *Rules) LowOf(poolID string, prizes []Prize) (low []LowPrize) {
	if r == nil {
		return nil
	}
	for i := range prizes {
		for _, l := range r.Low {
			if l.PrizeID == prizes[i].ID && prizes[i].Remaining() < l.Below {
				low = append(low, LowPrize{poolID, l.PrizeID, prizes[i].Remaining(), l.Below})
			}
		}
	}
	return low
}

// Document returns the rules document in its canonical form. It has no blanks. Strings
// and numbers are as in RFC 8785. Members are in the order of rulesDocument, and the
// prizes of odds in the order of their ids. Two documents are the same if their canonical
// forms are equal. Lists and fractions stay as they were written, and no default is
// added.
func (r *Rules) Document() string { return string(r.document) }

// SHA256 returns the digest of the canonical document, in hexadecimal.
func (r *Rules) SHA256() string { return hex.EncodeToString(r.digest[:]) }

// Same reports whether both are the same document, or both are nil.
func (r *Rules) Same(other *Rules) bool {
	if r == nil || other == nil {
		return r == other
	}
	return r.digest == other.digest
}

// CountsUsers reports whether the rules limit draws or wins. If so, the turns of a user
// reveal what the user drew.
func (r *Rules) CountsUsers() bool {
	return slices.ContainsFunc(r.Counted(), func(c Counted) bool { return c == CountedDraw || c == CountedWin })
}

// NamesZone reports whether the document names a zone; nil rules name none.
func (r *Rules) NamesZone() bool {
	var named struct {
		Zone *string `json:"zone"`
	}
	return r != nil && r.unreadable == nil && json.Unmarshal(r.document, &named) == nil && named.Zone != nil
}

// HasLimitBy reports whether some limit counts by b.
func (r *Rules) HasLimitBy(b By) bool {
	return slices.ContainsFunc(r.Limits, func(l Limit) bool { return l.By == b })
}

// SameWindow reports whether an amount that was spent under other rules still counts for
// the budget of r. It does if both rules have a budget, and the same windows.
func (r *Rules) SameWindow(other *Rules) bool {
	return other != nil && r.Budget != nil && other.Budget != nil && r.Budget.Per.Same(other.Budget.Per) &&
		r.Zone.String() == other.Zone.String()
}

// NewRules completes rules that were read from a canonical document: it adds the
// document, its digest, and the kinds of turns that the rules count.
func NewRules(stated Rules, document []byte) *Rules {
	r := &stated
	r.document, r.digest = document, sha256.Sum256(document)
	if r.Guarantee != nil {
		r.count(CountedMiss)
	}
	for _, l := range r.Limits {
		r.count(l.Counted())
	}
	return r
}

// NewUnreadableRules returns rules whose document cannot be read, with the reason, and
// whether the document states a budget.
func NewUnreadableRules(document []byte, why error, statesBudget bool) *Rules {
	r := NewRules(Rules{Win: Fraction{A: 1, B: 1}, Zone: time.UTC}, document)
	r.unreadable, r.statesBudget = why, statesBudget
	return r
}

func (r *Rules) count(c Counted) {
	if !slices.Contains(r.counted, c) {
		r.counted = append(r.counted, c)
	}
}

// Counted lists the kinds of turns that the rules count, each once. A turn is written for
// each event of these kinds. If the list is empty, no turns of users need to be read.
func (r *Rules) Counted() []Counted {
	if r == nil {
		return nil
	}
	return r.counted
}

// Check returns an error unless the rules fit the prizes of a pool. Errors:
// CodeInvalidRequest, which names the member, and CodeRulesUnreadable.
func (r *Rules) Check(prizes []Prize) error {
	if r.unreadable != nil {
		return Unreadable("the rules", r.unreadable)
	}
	byID := make(map[string]*Prize, len(prizes))
	for i := range prizes {
		byID[prizes[i].ID] = &prizes[i]
	}
	there := func(member, id string) (*Prize, error) {
		if p := byID[id]; p != nil {
			return p, nil
		}
		return nil, ErrorOfMember(member, "names %q, which is no prize of the pool%s", id, OrNearest(id, slices.Sorted(maps.Keys(byID))))
	}
	if r.Fallback != "" {
		p, err := there("fallback", r.Fallback)
		if err != nil {
			return err
		}
		if !p.IsEndless() {
			return ErrorOfMember("fallback", "names %q, which is not an endless blank", r.Fallback)
		}
	}
	if g := r.Guarantee; g != nil {
		p, err := there("guarantee.prize", g.PrizeID)
		if err != nil {
			return err
		}
		if !p.IsWin() {
			return ErrorOfMember("guarantee.prize", "names %q, which is a blank", g.PrizeID)
		}
	}
	for i, l := range r.Limits {
		if l.Of != LimitPrize {
			continue
		}
		member := fmt.Sprintf("limits[%d].prize", i)
		p, err := there(member, l.PrizeID)
		if err != nil {
			return err
		}
		if p.IsEndless() {
			return ErrorOfMember(member, "names %q, an endless blank, which nothing can withhold", l.PrizeID)
		}
	}
	for i, l := range r.Low {
		if _, err := there(fmt.Sprintf("low[%d].prize", i), l.PrizeID); err != nil {
			return err
		}
	}
	if err := r.Claims.check(there); err != nil {
		return err
	}
	return r.checkOdds(prizes, there)
}

func (r *Rules) checkOdds(prizes []Prize, there func(member, id string) (*Prize, error)) error {
	if r.Odds == nil {
		return nil
	}
	named := make(map[string]bool, len(r.Odds.Prizes))
	for _, share := range r.Odds.Prizes {
		member := "odds.prizes." + share.PrizeID
		p, err := there(member, share.PrizeID)
		if err != nil {
			return err
		}
		if p.IsEndless() {
			return ErrorOfMember(member, "is an endless blank, which is in no urn")
		}
		named[share.PrizeID] = true
	}
	for i := range prizes {
		if id := prizes[i].ID; prizes[i].IsWin() && !named[id] {
			return ErrorOfMember("odds.prizes", "does not name prize %q; write 0 for no chance", id)
		}
	}
	return nil
}

// Unreadable returns why this binary cannot read the rules, nil if it has read them.
// Unreadable rules have only their document: they count nothing, and withhold nothing.
func (r *Rules) Unreadable() error {
	if r == nil {
		return nil
	}
	return r.unreadable
}

// HasBudget reports whether the rules have a budget, even if nothing else of them can
// be read.
func (r *Rules) HasBudget() bool { return r != nil && (r.Budget != nil || r.statesBudget) }

// Unreadable returns the error of stored data of a pool that this binary cannot read:
// rules, a planned item, a commitment or a change. Its code is CodeRulesUnreadable,
// whatever the code of why.
func Unreadable(what string, why error, args ...any) *Error {
	//double:blames-callers CodeRulesUnreadable => CodeInvalidRequest
	e := Errorf(CodeRulesUnreadable, what+" cannot be read by this instance: written by another release, or damaged", args...)
	e.Err = errors.New(DetailOf(why)) // the code of the cause would report a fault of the caller
	return e
}

// AnyRules stands for a version that matches all rules, but not a pool without rules.
const AnyRules int64 = -1

// Ruling is the record that rules came into force in a pool.
type Ruling struct {
	PoolID string
	// Version is the version of the change, 0 for a pool that never had rules.
	Version int64
	// Rules are nil if the change removed the earlier ones.
	Rules *Rules
	Actor string
	At    time.Time
}

// RulesBody returns the body of a change of rules; nil removes the rules.
func RulesBody(r *Rules) string {
	if r == nil {
		return `{"rules":null}`
	}
	return `{"rules":` + r.Document() + `}`
}

// ShareOf returns the share of a prize that the odds name. Shares are in the order of
// the prizes' ids.
func (o *FixedOdds) ShareOf(id string) int64 {
	i, _ := slices.BinarySearchFunc(o.Prizes, id, func(p FixedShare, id string) int { return strings.Compare(p.PrizeID, id) })
	return o.Prizes[i].Share
}

// ErrorOfMember returns the error of a member of a rules document.
func ErrorOfMember(member, format string, args ...any) error {
	e := Errorf(CodeInvalidRequest, "%q %s", member, fmt.Sprintf(format, args...))
	e.Member = member
	return e
}

// Counted returns the kind of turns that the limit counts.
func (l Limit) Counted() Counted {
	switch l.Of {
	case LimitDraws:
		return CountedDraw
	case LimitWins:
		return CountedWin
	case LimitPrize:
	}
	return CountedPrize(l.PrizeID)
}

// By states which draws a limit counts together, such as those of one user.
type By int

// ByUser counts the draws of each user.
const ByUser By = iota

// String returns the word for one subject, for texts that people read.
func (b By) String() string { return "user" }

// Of returns the id of the subject for which a draw of the player counts: the user.
func (b By) Of(p Player) string { return p.UserID }

// Player identifies who draws. Limits can count by each of its members.
type Player struct{ UserID string }

// Player returns the player who requests the draw.
func (r *Request) Player() Player { return Player{UserID: r.UserID} }

// Player returns the player who drew the unit.
func (a *Award) Player() Player { return Player{UserID: a.UserID} }

// Counted names a kind of turns in a pool. Each kind has its own sequence, seq 1, 2, 3
// … for each subject. Turns are written only while rules count their kind.
type Counted string

// The kinds. [CountedPrize] returns the kind of one prize. Ids have no colon, so a prize
// with the id "win" has a kind of its own.
const (
	// CountedDraw is a requested unit.
	CountedDraw Counted = "draw"
	// CountedWin is an award of kind prize.
	CountedWin Counted = "win"
	// CountedMiss is a requested unit while a guarantee was in force. Only these turns
	// have a Run. They do not count as draws: a later limit of draws must not count
	// units that were drawn before it.
	CountedMiss Counted = "miss"
)

// CountedPrize is an award of one prize.
func CountedPrize(prizeID string) Counted { return Counted("prize:" + prizeID) }

// By returns the subjects of the kind.
func (c Counted) By() By { return ByUser }

// Turn is the record that a unit counts for a subject.
type Turn struct {
	// Subject is the counted subject, which the kind's [By] determines: a user.
	Subject string
	Counted Counted
	// Seq is the place among the subject's turns of the kind, from 1.
	Seq int64
	// Version is the version of the award.
	Version int64
	// Run, of a [CountedMiss], is the number of misses in a row after the turn.
	Run int64
	At  time.Time
}
