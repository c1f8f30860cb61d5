// Package urn decides draws: one unit of the pool, uniformly at random among all
// units that remain. [Urn] is the cached copy of a pool; [Urn.Plan] decides requests one
// after another, and a [Plan] that could not be written is made again with the same
// numbers (law 3). Whether a planned award really happens is not decided here: the
// guarded write of package stock decides, and a plan that it rejects is put back into the
// urn unit by unit.
//
// Rules of a campaign stand between: decide.go has the gates and the redirects in order,
// [Urn.Needs] and [Facts] are what they must know of users. [Run] leads the same
// decisions in memory, for simulations and for package fold.
package urn
