package odds

import "drawsvc/internal/draw"

// Present is the state of a pool, read at one instant, that a simulation begins with.
type Present struct {
	Pool draw.Pool
	// Rules are the rules of the simulation, nil for none.
	Rules *draw.Rules
	// Items are the open items of the agenda; one item represents each list of hidden
	// ones.
	Items []draw.Item
	// SpentBefore is what [Simulation] needs for these rules and for those of the agenda.
	SpentBefore []draw.Spending
}
