// Package odds computes the exact chances of a draw, and simulates a pool. A [Simulation]
// runs many draws in memory with the code that decides real draws. It compares the
// results with the expectation.
package odds
