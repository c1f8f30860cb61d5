package draw

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

// request is one for a unit, which nobody has made.
func (p Player) request(poolID string) Request {
	return Request{PoolID: poolID, UserID: p.UserID, Count: 1}
}

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

// Counted names the turns that the limit counts.
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
