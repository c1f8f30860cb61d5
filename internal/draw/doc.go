// Package draw is the domain: what a draw is, who wins it, and how many
// draws are decided together. It knows no SQL, no HTTP and no lock service.
//
// It keeps the law of a draw: one unit of the pool, uniformly at random among
// all units that remain. [Urn] is that law, [Batch] applies it to draws one
// after another, [Batcher] gathers the draws that wait while the last batch
// commits, and [Service] is what the wire talks to.
//
// Whether a planned award really happens is not decided here: the guarded
// write of package stock decides, and a plan that it refuses is put back into
// the urn unit by unit.
package draw
