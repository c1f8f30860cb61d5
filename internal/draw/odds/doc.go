// Package odds states the chances of a draw, exactly, and tests a pool: a [Simulation]
// runs many draws in memory, by the code that decides real ones, and compares the
// results with the expectation.
package odds
