package draw

import "time"

// By says whom a limit counts, and so whose turns a kind of turns is.
type By int

// ByUser counts the draws of each user.
const ByUser By = iota

// String is how a text for people calls one of those that are counted.
func (b By) String() string { return "user" }

// Of names the one that a draw of the player counts for.
func (b By) Of(p Player) string { return p.UserID }

// Player is whoever draws, by everything that a limit can count.
type Player struct{ UserID string }

// Player is whoever asks for the draw.
func (r *Request) Player() Player { return Player{UserID: r.UserID} }

// Player is whoever drew the unit.
func (a *Award) Player() Player { return Player{UserID: a.UserID} }

// Counted names a kind of turns that are taken in a pool. Each kind has its own
// sequence, seq 1, 2, 3 … for each subject. Turns are written only while rules count
// their kind.
type Counted string

// The kinds. A prize's own is [CountedPrize]; a colon is in no id, so that a
// prize named win counts apart.
const (
	// CountedDraw is a unit that was asked for.
	CountedDraw Counted = "draw"
	// CountedWin is an award of kind prize.
	CountedWin Counted = "win"
	// CountedMiss is a unit that was asked for while a guarantee was in force.
	// Run is set on these alone. They are no draws: a limit of draws that comes
	// later must not count what was drawn before it.
	CountedMiss Counted = "miss"
)

// CountedPrize is an award of one prize.
func CountedPrize(prizeID string) Counted { return Counted("prize:" + prizeID) }

// By says whose turns are of the kind.
func (c Counted) By() By { return ByUser }

// Turn is the record that a unit counts for a subject.
type Turn struct {
	// Subject is the one that the kind's [By] names: a user.
	Subject string
	Counted Counted
	// Seq is the place among the subject's turns of the kind, from 1.
	Seq int64
	// Version is the one of the award.
	Version int64
	// Run is the number of misses in a row after the turn, of [CountedMiss].
	Run int64
	At  time.Time
}
