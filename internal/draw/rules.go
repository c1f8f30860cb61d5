package draw

import (
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"slices"
	"strconv"
	"time"
)

// Limits of a rules document.
const (
	// RulesMax is the largest document, in bytes as it comes in.
	RulesMax = 64 << 10
	// PublishedMax is the largest document of a public log, in bytes: each user in
	// blocked bears a tag there, which may be longer than his name.
	PublishedMax = 2 * RulesMax
	// LimitsMax is the most limits of a document.
	LimitsMax = 16
	// LimitMax is the highest max of a limit.
	LimitMax = 1_000_000
	// BlockedMax is the most users that a document blocks.
	BlockedMax = 1000
	// OddsMax is the most prizes in odds.
	OddsMax = 1000
	// FractionMax is the largest denominator of a fraction.
	FractionMax = 1_000_000_000
	// AfterMax is the most misses before a guarantee.
	AfterMax = 100_000
)

// Rules is a rules document that was read: what decides the draws of a pool
// besides its stock. It never changes once it was parsed. No rules at all are a
// nil *Rules.
type Rules struct {
	// Win is the chance that the urn is asked at all, 1 where the document has
	// none. It is 1 under the fixed law.
	Win Fraction
	// Odds are those of the fixed law, nil under the stock law.
	Odds *FixedOdds
	// Fallback is the id of the endless blank that nothing becomes, "" for none.
	Fallback string
	// Guarantee is nil for none.
	Guarantee *Guarantee
	Limits    []Limit
	// Budget is nil for none.
	Budget *Budget
	// Zone is where the windows of the calendar begin; UTC where the document
	// names none.
	Zone *time.Location
	// Tickets says that a draw needs a ticket.
	Tickets bool
	// Blocked are the users that draw nothing.
	Blocked map[string]bool
	// Disclose says that players may read the odds.
	Disclose bool
	Low      []Low
	// Version is the one of the change that put the rules in force, 0 for a
	// document that is in force nowhere.
	Version int64

	document []byte
	digest   [sha256.Size]byte
	counted  []Counted
	// unreadable is why the document could not be read, nil where it was.
	// statesBudget is set with it.
	unreadable   error
	statesBudget bool
}

// Fraction is a/b with 0 < a ≤ b ≤ FractionMax, as it was written: 2/4 is not
// 1/2, because numbers below b are drawn.
type Fraction struct{ A, B int64 }

// IsOne says that a is b.
func (f Fraction) IsOne() bool { return f.A == f.B }

// String returns a/b.
func (f Fraction) String() string {
	return strconv.FormatInt(f.A, 10) + "/" + strconv.FormatInt(f.B, 10)
}

// Rat is the fraction's value.
func (f Fraction) Rat() *big.Rat { return big.NewRat(f.A, f.B) }

// FixedOdds is the fixed law: of Of equal shares each prize has its own, and
// the fallback has the rest. Shares lie in the order of the prizes' ids.
type FixedOdds struct {
	Of     int64
	Prizes []FixedShare
}

// FixedShare is a prize's part of the fixed odds, 0 to their Of.
type FixedShare struct {
	PrizeID string
	Share   int64
}

// Guarantee gives PrizeID to a user who missed After times in a row, 0 to
// AfterMax, while its stock lasts.
type Guarantee struct {
	After   int64
	PrizeID string
}

// Limit is the maximum of turns of one kind in a window.
type Limit struct {
	Of LimitOf
	// By says whose turns are counted.
	By By
	// PrizeID is set where Of is LimitPrize.
	PrizeID string
	// Max is 1 to LimitMax.
	Max int64
	Per Per
}

// LimitOf says what a limit counts.
type LimitOf string

// What limits count: units asked for, awards of kind prize, awards of one prize.
const (
	LimitDraws LimitOf = "draws"
	LimitWins  LimitOf = "wins"
	LimitPrize LimitOf = "prize"
)

// Budget is the most value, in cents, that is issued in a window. The window is
// of the calendar, or ever.
type Budget struct {
	Max int64
	Per Per
}

// Low asks for a warning when fewer than Below units of a prize remain.
type Low struct {
	PrizeID string
	Below   int64
}

// LowPrize is a prize of which fewer than Below units remain.
type LowPrize struct {
	PoolID, PrizeID  string
	Remaining, Below int64
}

// LowOf are those of a pool's prizes that the rules warn of, in their order.
func (r *Rules) LowOf(poolID string, prizes []Prize) (low []LowPrize) {
	for i := range prizes {
		for _, l := range r.Low {
			if l.PrizeID == prizes[i].ID && prizes[i].Remaining() < l.Below {
				low = append(low, LowPrize{poolID, l.PrizeID, prizes[i].Remaining(), l.Below})
			}
		}
	}
	return low
}

// Document is the rules document in its canonical form: no blanks, strings and
// numbers as in RFC 8785, members in the order of rulesDocument, the prizes of
// odds in the order of their ids. Two documents are the same when this is equal,
// whatever order and blanks they came in. Lists and fractions stay as they were
// written, and nothing is filled in.
func (r *Rules) Document() string { return string(r.document) }

// SHA256 is the digest of the canonical document, in hexadecimal.
func (r *Rules) SHA256() string { return hex.EncodeToString(r.digest[:]) }

// Same says that both are the same document, or both are none.
func (r *Rules) Same(other *Rules) bool {
	if r == nil || other == nil {
		return r == other
	}
	return r.digest == other.digest
}

// CountsUsers says that the rules have a limit of draws or of wins, so that a
// user's turns say what he drew.
func (r *Rules) CountsUsers() bool {
	return slices.ContainsFunc(r.Counted(), func(c Counted) bool { return c == CountedDraw || c == CountedWin })
}

// HasLimitBy reports whether a limit counts by b.
func (r *Rules) HasLimitBy(b By) bool {
	return slices.ContainsFunc(r.Limits, func(l Limit) bool { return l.By == b })
}

// SameWindow says that what was spent under other rules counts on under r's
// budget: both have one, over the same windows.
func (r *Rules) SameWindow(other *Rules) bool {
	return other != nil && r.Budget != nil && other.Budget != nil && r.Budget.Per.same(other.Budget.Per) &&
		r.Zone.String() == other.Zone.String()
}

// Counted lists the kinds of turns that the rules count, each once: a turn of
// each is written where it happens. It is empty where nothing is counted, and
// then no user need be looked up.
func (r *Rules) Counted() []Counted {
	if r == nil {
		return nil
	}
	return r.counted
}

func (r *Rules) count(c Counted) {
	if !slices.Contains(r.counted, c) {
		r.counted = append(r.counted, c)
	}
}
