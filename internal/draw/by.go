package draw

import "time"

// By is what a limit counts by: it determines the subjects of the limit, such as users.
type By int

// ByUser counts the draws of each user.
const ByUser By = iota

// String returns the word for one subject, for texts that people read.
func (b By) String() string { return "user" }

// Of returns the id of the subject that a draw of the player counts for: the user.
func (b By) Of(p Player) string { return p.UserID }

// Player identifies who draws, with everything that a limit can count by.
type Player struct{ UserID string }

// Player returns the player who requests the draw.
func (r *Request) Player() Player { return Player{UserID: r.UserID} }

// Player returns the player who drew the unit.
func (a *Award) Player() Player { return Player{UserID: a.UserID} }

// Counted names a kind of turns in a pool. Each kind has its own sequence, seq 1, 2, 3
// … for each subject. Turns are written only while rules count their kind.
type Counted string

// The kinds. A prize's own kind is [CountedPrize]. Its colon occurs in no id, so that a
// prize named win is counted separately.
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
