package proof

import (
	"time"

	"drawsvc/internal/draw"
)

// RuleBeacon is broken by an opening whose round was there already, or near, when
// it was announced; by an open line of another round or with a signature that is
// not the round's; and by what a pool with a beacon may not change while it is
// open.
const RuleBeacon = "beacon"

// announcement is a round that a pool was announced to open with.
type announcement struct {
	// version is that of the opening's entry. Whoever signed a log of that size
	// before comes bears witness that nobody knew the round.
	version, round int64
	comes          time.Time
}

// openings are those of a pool with a beacon.
type openings struct {
	announced []announcement
	// standing says that the pool may open with the last of them.
	standing bool
	// opened counts the openings, passed the rounds that were announced and not
	// opened with: each is a deck that whoever knows the seed could leave.
	opened, passed int64
	// skipped counts the versions that give nothing.
	skipped int64
}

// drop has the announcement that stands, if one does, stand no more.
func (o *openings) drop() {
	if o.standing {
		o.standing, o.passed = false, o.passed+1
	}
}

// opening checks the line that announces a round. The line's time is the word of
// who wrote it.
func (v *verifier) opening(l *Line) error {
	b := v.commitment.Beacon
	switch {
	case b == nil || !v.isCommitted():
		return findf(l.Version, RuleBeacon, "the pool is not committed to a beacon")
	case v.state != draw.StatePaused:
		return findf(l.Version, RuleBeacon, "a round is announced while the pool is %s", v.state)
	case v.standing:
		return findf(l.Version, RuleBeacon, "another round is announced, and the pool has not opened with it")
	case len(v.announced) > 0 && l.Round <= v.announced[len(v.announced)-1].round:
		return findf(l.Version, RuleBeacon, "the round is not behind the one that was announced before")
	case !b.Announces(l.Round, l.At):
		return findf(l.Version, RuleBeacon, "round %d came at %s: it was there, or less than two periods ahead, when it was announced",
			l.Round, b.At(l.Round).Format(time.RFC3339))
	}
	v.announced, v.standing = append(v.announced, announcement{version: l.Version, round: l.Round, comes: b.At(l.Round)}), true
	return nil
}

// opens checks the line that opens the pool, and mixes its round in.
func (v *verifier) opens(l *Line) error {
	if v.isCommitted() && v.state != draw.StateOpen { // an item of the agenda may open what is open
		v.opened++
	}
	b := v.commitment.Beacon
	if b == nil || !v.isCommitted() {
		if l.Round != 0 {
			return findf(l.Version, RuleBeacon, "the pool is not committed to a beacon, and opens with a round")
		}
		return nil
	}
	if !v.standing || v.announced[len(v.announced)-1].round != l.Round {
		return findf(l.Version, RuleBeacon, "the pool opens with round %d, which no opening that stands has announced", l.Round)
	}
	mixed, err := b.Mixed(draw.Round{Number: l.Round, Signature: l.Signature})
	if err != nil {
		return findf(l.Version, RuleBeacon, "%s", draw.DetailOf(err))
	}
	if err := v.foreseen(v.announced[len(v.announced)-1]); err != nil {
		return err
	}
	v.standing = false
	if v.numbers != nil {
		v.numbers.Mix(mixed)
	}
	return nil
}

// steers checks an entry that changes what the numbers of later versions give. A
// pool with a beacon takes it while it is paused, and must then announce a round
// behind it.
func (v *verifier) steers(l *Line) error {
	c := v.commitment
	if c.Beacon == nil || !v.isCommitted() || c.StockWhileOpen && l.Kind == KindStock || l.Kind == KindPrize && !v.revalues(l) {
		return nil
	}
	if v.state == draw.StateOpen {
		return findf(l.Version, RuleBeacon, "the pool is open, and what its numbers give is changed")
	}
	if v.state == draw.StatePaused {
		v.drop()
	}
	return nil
}

// skip takes in a version that gives nothing. A pool with a beacon must then announce
// another round: whoever knows the seed and the round could otherwise choose which
// version the first draw has.
func (v *verifier) skip() {
	v.skipped++
	v.drop()
}

// revalues says that a correction changes a prize's value, which budgets go by.
func (v *verifier) revalues(l *Line) bool {
	p := v.recompute.Prize(l.PrizeID)
	return p == nil || p.Value.StringFixed(2) != l.Value
}
