// Package draw is the domain: what a draw is and who wins it. It is pure: no
// goroutine, no lock, no SQL, no HTTP. It imports nothing of ours.
//
// It keeps the law of a draw: one unit of the pool, uniformly at random among
// all units that remain. [Urn] is the cached copy of a pool and applies that
// law; [Urn.Plan] decides requests one after another; [Head] names the state
// that a plan was made from. The numbers of a plan belong to the versions that
// it makes, so a plan that could not be written is made again with the same
// picks (law 3).
//
// Rules of a campaign stand between: [Rules] is the document, decide.go has the
// gates and the redirects in order, [Urn.Needs] and [Facts] are what they must
// know of users. [Run] and [Fold] lead the same decisions in memory. The odds of
// a draw, and simulations, are package odds.
//
// Whether a planned award really happens is not decided here: the guarded
// write of package stock decides, and a plan that it rejects is put back into
// the urn unit by unit.
package draw
