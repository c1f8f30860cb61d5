package odds

import "drawsvc/internal/draw"

// Present is the state of a pool, read at one instant, with which a simulation begins.
type Present struct {
	Pool draw.Pool
	// Rules are the rules of the simulation, nil for none.
	Rules *draw.Rules
	// Items are the open items of the agenda. Hidden items that were planned together are
	// represented by one item.
	Items []draw.Item
	// SpentBefore is the [Simulation.SpentBefore] for these rules and for those of the
	// agenda.
	SpentBefore []draw.Spending
}
