// Package odds states the chances of a draw, exactly, and tries a pool out: a
// [Simulation] runs many draws in memory, by the code that decides real ones, and
// compares what came with what was to be expected.
package odds
