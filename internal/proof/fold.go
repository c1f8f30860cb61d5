package proof

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/fold"
	"drawsvc/internal/draw/urn"
)

// folding is the state that follows from the part of the log that was read.
type folding struct {
	tree      Tree
	recompute *fold.Recomputation
	documents []*draw.Rules
	at        time.Time
	state     draw.State // "" before the first line that sets one
	// covered is the size of the last checkpoint of the folder.
	covered int64
	// last is the previous award. Its draw may have further awards.
	last  *Line
	drawn *names
	// moments are the items whose moments have become pending.
	moments    map[int64]bool
	recomputed int64
	openings
}

// eachLine calls fn with each line of the log.
func (v *verifier) eachLine(fn func(b []byte) error) error {
	f, in, err := v.log()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	for n := int64(1); !v.options.Live || n <= v.covered; n++ {
		b, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF) && len(b) == 0:
			return nil
		case errors.Is(err, io.EOF), errors.Is(err, bufio.ErrBufferFull):
			return findf(n, RuleLine, "the line has no end, or is longer than %d bytes", LineMax)
		case err != nil:
			return findf(n, RuleFile, "the log cannot be read: %v", err)
		}
		if err := fn(b); err != nil {
			return err
		}
	}
	return nil
}

// readRules reads all rules that the log puts in force. The recomputation needs them in
// advance, because a limit of later rules counts earlier draws. readRules ends at the
// first line that is not an entry; readLog reports the fault of that line.
func (v *verifier) readRules() error {
	n := int64(0)
	err := v.eachLine(func(b []byte) error {
		if n++; !bytes.HasPrefix(b, strconv.AppendInt([]byte(`{"v":`), n, 10)) {
			return errNoEntry
		}
		if !bytes.Contains(b, []byte(`"kind":"rules"`)) {
			return nil
		}
		if l, err := ParseLine(b); err == nil && l.Kind == KindRules {
			if rules, err := l.Rules(); err == nil && rules != nil {
				v.documents = append(v.documents, rules)
			}
		}
		return nil
	})
	if f, ok := errors.AsType[*finding](err); ok && f.rule == RuleLine || errors.Is(err, errNoEntry) {
		return nil
	}
	return err
}

// errNoEntry ends a reading at a line that is not the next entry of the log. The lines
// after it have no effect.
var errNoEntry = errors.New("proof: the line is not the next entry")

func (v *verifier) readLog() error {
	var source urn.Source
	if v.numbers != nil {
		source = v.numbers
	}
	v.recompute = fold.NewRecomputation(v.commitment.Pool(), source, v.documents)
	slices.SortStableFunc(v.signed, func(a, b expected) int { return int(min(max(a.Size-b.Size, -1), 1)) })
	err := v.beginCheckpoints()
	defer v.stop()
	if err == nil {
		err = v.eachLine(v.take)
	}
	if err == nil {
		err = v.end()
	}
	return err
}

// take checks the next line.
func (v *verifier) take(b []byte) error {
	n := v.tree.Size() + 1
	l, err := ParseLine(b)
	if err != nil {
		return findf(n, RuleLine, "%s", draw.DetailOf(err))
	}
	if l.Version != n {
		return findf(n, RuleOrder, "the version is %d", l.Version)
	}
	if l.At.Before(v.at) {
		return findf(n, RuleOrder, "the time lies before that of the entry before")
	}
	v.at = l.At
	if err := v.entry(l); err != nil {
		return err
	}
	if err := v.keeps(n, b); err != nil {
		return err
	}
	v.tree.Add(b)
	return v.compare(n)
}

func (v *verifier) end() error {
	n := v.tree.Size()
	missing, _ := v.expects()
	switch {
	case v.isDrawing():
		return findf(n, RuleDraw, "the log ends within a draw")
	case missing != nil:
		return findf(n+1, missing.rule, "a log of %d entries was signed, and this one has %d", missing.Size, n)
	case n <= v.commitment.Size:
		return findf(n+1, RuleCommitment, "the log ends before the commitment's entry")
	case v.covered < n:
		return findf(v.covered+1, RuleCheckpoint, "no checkpoint covers the entries behind %d", v.covered)
	case v.state != draw.StateClosed && !v.options.Live:
		return findf(n+1, RuleLife, "the log ends before the pool is closed")
	case len(v.promised) > 0:
		return findf(v.lost(), RuleReceipt, "a receipt promised the entry, and the log ends before it")
	}
	return nil
}

// first returns the first version whose award is recomputed.
func (v *verifier) first() int64 {
	if v.commitment == nil {
		return 0
	}
	return v.commitment.Size + 2
}

func (v *verifier) isCommitted() bool { return v.tree.Size() > v.commitment.Size }

// isDrawing reports whether the draw of the previous entry continues.
func (v *verifier) isDrawing() bool { return v.last != nil && v.last.Ordinal < v.last.Count }

// entry checks a line whose form and order are right.
func (v *verifier) entry(l *Line) error {
	n := l.Version
	if err := v.place(l); err != nil {
		return err
	}
	if l.Kind == KindAward {
		return v.award(l)
	}
	if v.isDrawing() {
		return findf(n, RuleDraw, "another entry stands within a draw")
	}
	v.last = nil
	switch l.Kind {
	case KindStock, KindPrize, KindRules:
		return v.changed(l)
	case KindOpening:
		return v.opening(l)
	case KindSkip:
		v.skip()
	case KindOpen, KindPause, KindClose:
		return v.setState(l)
	case KindAward, KindCommit, KindMode, KindName, KindCreated, KindArchive, KindAgenda, KindCodes, KindErased:
	}
	return nil
}

// changed applies a line that changes the possible results of draws.
func (v *verifier) changed(l *Line) error {
	if err := v.steers(l); err != nil {
		return err
	}
	n := l.Version
	switch l.Kind {
	case KindStock:
		if err := v.stock(l); err != nil {
			return findf(n, RuleStock, "%s", draw.DetailOf(err))
		}
		return v.pend(l)
	case KindPrize:
		value, _ := draw.ParseValue(l.Value) // a line has only valid values
		// The name affects no draw; see stock.
		if err := v.recompute.Correct(l.PrizeID, l.PrizeID, value); err != nil {
			return findf(n, RuleStock, "%s", draw.DetailOf(err))
		}
	case KindRules:
		rules, err := l.Rules()
		if err == nil {
			err = v.recompute.SetRules(rules, l.At)
		}
		if err != nil {
			return findf(n, RuleRules, "%s", draw.DetailOf(err))
		}
	default:
	}
	return nil
}

// place checks that the log may have a line of this kind here.
func (v *verifier) place(l *Line) error {
	n := l.Version
	switch isCommit := l.Kind == KindCommit; {
	case (n == 1) != (l.Kind == KindCreated):
		return findf(n, RuleLife, "the first entry, and it alone, makes the pool")
	case isCommit != (n == v.commitment.Size+1):
		return findf(n, RuleCommitment, "the commitment's entry is number %d, and there is one", v.commitment.Size+1)
	case isCommit && l.Hash != v.commitment.hex():
		return findf(n, RuleCommitment, "the entry names another commitment")
	case isCommit && v.state == draw.StateOpen:
		return findf(n, RuleLife, "the pool was open when it was committed")
	case l.Kind == KindSkip && (n <= v.commitment.Size || v.state != draw.StatePaused):
		return findf(n, RuleLife, "a version is skipped, and the pool is not paused and committed")
	case l.Kind == KindErased && n > v.commitment.Size:
		return findf(n, RuleLife, "behind the commitment an erasure is no entry")
	case isCommit && v.state == "":
		v.state = draw.StatePaused
	}
	if v.state != draw.StateClosed {
		return nil
	}
	switch l.Kind {
	case KindName, KindArchive, KindMode, KindAgenda, KindPrize:
		return nil
	case KindAward, KindStock, KindCommit, KindOpening, KindOpen, KindPause, KindClose, KindRules, KindCreated, KindCodes, KindErased, KindSkip:
	}
	return findf(n, RuleLife, "the pool is closed")
}

func (v *verifier) setState(l *Line) error {
	to := map[Kind]draw.State{KindOpen: draw.StateOpen, KindPause: draw.StatePaused, KindClose: draw.StateClosed}[l.Kind]
	switch to {
	case draw.StateOpen:
		if err := v.opens(l); err != nil {
			return err
		}
	case draw.StateClosed:
		v.drop()
	case draw.StatePaused:
	}
	v.state = to
	v.recompute.SetState(to)
	return nil
}

func (v *verifier) stock(l *Line) error {
	if !l.isFirst() {
		return v.recompute.Stock(l.PrizeID, l.Delta)
	}
	// Names affect no draw, so any name will do.
	p := draw.Prize{ID: l.PrizeID, Name: l.PrizeID, Kind: draw.KindPrize, Stocked: l.Delta}
	p.Value, _ = draw.ParseValue(l.Value) // a line has only valid values
	if l.IsBlank {
		p.Kind = draw.KindBlank
	}
	if l.IsEndless {
		p.Stocked = draw.EndlessStock
	}
	if p.IsEndless() != l.IsEndless {
		return draw.Errorf(draw.CodeInvalidRequest, "a blank of as many units is endless")
	}
	return v.recompute.AddPrize(p)
}

// numbered reports whether the revealed seed gives the numbers of a version.
func (v *verifier) numbered(version int64) bool {
	return v.numbers != nil && version <= v.numbers.Last()
}

// lastOfAll returns the last version that any seed of the commitment covers.
func (v *verifier) lastOfAll() int64 {
	c := v.commitment
	if c.Epochs > (math.MaxInt64-c.Size-1)/c.EpochLength {
		return math.MaxInt64
	}
	return c.Size + 1 + c.Epochs*c.EpochLength
}

// award checks the award of a line, and applies it.
func (v *verifier) award(l *Line) error {
	if err := v.inDraw(l); err != nil {
		return err
	}
	v.last = l
	a := &draw.Award{
		Version: l.Version, DrawID: l.Draw, Ordinal: l.Ordinal, UserID: l.User, PrizeID: l.PrizeID, Unit: l.Unit, At: l.At, Redirect: l.Redirect,
	}
	if v.isCommitted() {
		if err := v.decide(l, a); err != nil {
			return err
		}
	}
	if isMoment(l.Redirect) && !v.recompute.HasMoment(l.PrizeID) {
		return findf(l.Version, RuleMoment, "no moment of %q is pending", l.PrizeID)
	}
	if err := v.recompute.Take(a); err != nil {
		return findf(l.Version, RuleStock, "%s", draw.DetailOf(err))
	}
	return nil
}

// inDraw checks that an award continues the previous draw, or begins a draw with a new
// name.
func (v *verifier) inDraw(l *Line) error {
	if v.isDrawing() {
		before := v.last
		if l.Draw != before.Draw || l.User != before.User || l.Count != before.Count || l.Ordinal != before.Ordinal+1 || !l.At.Equal(before.At) {
			return findf(l.Version, RuleDraw, "the award is not the next of the draw before it")
		}
		return nil
	}
	known, err := v.isKnown(l)
	if known || l.Ordinal != 1 {
		return findf(l.Version, RuleDraw, "the award begins no draw of a name of its own")
	}
	return err
}

// decide recomputes an award, and compares it with the logged one.
func (v *verifier) decide(l *Line, logged *draw.Award) error {
	if l.Version > v.lastOfAll() {
		return findf(l.Version, RuleReveal, "the commitment has no seed for the version")
	}
	if !v.numbered(l.Version) {
		if v.options.Live {
			return nil
		}
		return findf(l.Version, RuleReveal, "the seed of the version is not revealed")
	}
	q := draw.Request{PoolID: v.commitment.Pool(), UserID: l.User, DrawID: l.Draw, Named: true, Count: l.Count}
	a, err := v.recompute.Next(l.Version, q, l.Ordinal, l.At)
	if err != nil {
		return findf(l.Version, RuleRefused, "%s", draw.DetailOf(err))
	}
	v.recomputed++
	if isMoment(a.Redirect) != isMoment(logged.Redirect) || isMoment(a.Redirect) && a.PrizeID != logged.PrizeID {
		return findf(l.Version, RuleMoment, "the log has %s%s, due is %s%s", logged.PrizeID, redirected(logged.Redirect), a.PrizeID, redirected(a.Redirect))
	}
	if a.PrizeID != logged.PrizeID || a.Unit != logged.Unit || redirected(a.Redirect) != redirected(logged.Redirect) {
		return findf(l.Version, RuleAward, "the log has unit %d of %s%s, the seed gives unit %d of %s%s",
			logged.Unit, logged.PrizeID, redirected(logged.Redirect), a.Unit, a.PrizeID, redirected(a.Redirect))
	}
	return nil
}

func redirected(r *draw.Redirect) string {
	switch {
	case r == nil:
		return ""
	case r.Drawn == "":
		return fmt.Sprintf(" instead of nothing (%s)", r.Why)
	}
	return fmt.Sprintf(" instead of %s (%s)", r.Drawn, r.Why)
}

// RuleBeacon is broken if a round is announced less than two periods before it comes. It
// is broken if the pool opens with a round that was not announced, or with a wrong
// signature. It is also broken if an entry changes later results while the pool is open.
const RuleBeacon = "beacon"

// announcement is a round that was announced for the opening of a pool.
type announcement struct {
	// version is the version of the announcement's entry. If a witness signed a log of that
	// size before the round came, nobody knew the round when it was announced.
	version, round int64
	comes          time.Time
}

// openings is the state of a pool with a beacon that concerns its openings.
type openings struct {
	announced []announcement
	// standing means that the pool may open with the last announced round.
	standing bool
	// opened counts the openings. passed counts the announced rounds with which the pool was
	// not opened. An operator who knows the seed may have avoided the results of each of
	// these rounds.
	opened, passed int64
	// skipped counts the versions that were skipped: no draw uses their numbers.
	skipped int64
}

// drop withdraws the standing announcement, if there is one.
func (o *openings) drop() {
	if o.standing {
		o.standing, o.passed = false, o.passed+1
	}
}

// opening checks the line that announces a round. It cannot know whether the line's time
// is true.
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
	if v.isCommitted() && v.state != draw.StateOpen { // the agenda may open a pool that is already open
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

// steers checks an entry that changes the results of later versions. If a pool has a
// beacon, such an entry is allowed only while the pool is paused or closed, and withdraws
// the announced round.
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

// skip applies a skipped version. A pool with a beacon must then announce another round:
// otherwise an operator who knows the seed and the round could choose the version of the
// first draw.
func (v *verifier) skip() {
	v.skipped++
	v.drop()
}

// revalues reports whether a correction changes the value of a prize, on which budgets
// depend.
func (v *verifier) revalues(l *Line) bool {
	p := v.recompute.Prize(l.PrizeID)
	return p == nil || p.Value.StringFixed(2) != l.Value
}
