package servertest

import "os"

// everyVariable selects between all combinations of what tests range over and a part of
// them.
const everyVariable = "DRAWSVC_TEST_EVERY"

// Every reports whether a test has to run every combination of what it ranges over:
// DRAWSVC_TEST_EVERY=true, as `make test-all` sets it. Without it a test of three
// dimensions may run a part in which each two values of different dimensions occur
// together, such as the one of [Meets].
func Every() bool { return os.Getenv(everyVariable) == "true" }

// Meets selects those triples (row, column, layer) that a Latin square has: each row
// occurs with each column in one layer, and the layers take turns. If there are at
// least as many rows and columns as layers, each layer occurs with each of them too.
// layer is from 0 to layers-1.
func Meets(row, column, layer, layers int) bool { return (row+column)%layers == layer }
