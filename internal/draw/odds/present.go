package odds

import "drawsvc/internal/draw"

// Present is what a simulation of a pool begins with, as it was at one instant.
type Present struct {
	Pool draw.Pool
	// Rules are those of the simulation, nil for none.
	Rules *draw.Rules
	// Items are the open items of the agenda, with one for each list of hidden ones.
	Items []draw.Item
	// SpentBefore is that of [Simulation], for the rules and for those of the agenda.
	SpentBefore []draw.Spending
}
