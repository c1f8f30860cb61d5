package servertest

import "os"

// everyVariable makes tests run all combinations instead of a part of them.
const everyVariable = "DRAWSVC_TEST_EVERY"

// Every reports whether a test has to run all combinations of its dimensions:
// DRAWSVC_TEST_EVERY=true, as `make test-all` sets it. Without it, a test of three
// dimensions may run a part in which any two values of different dimensions occur
// together, such as the part that [Meets] selects.
func Every() bool { return os.Getenv(everyVariable) == "true" }

// Meets selects those triples (row, column, layer) that a Latin square has: each row
// occurs with each column in one layer, and the layers take turns. If there are at
// least as many rows and columns as layers, each layer occurs with each of them too.
// layer is from 0 to layers-1.
func Meets(row, column, layer, layers int) bool { return (row+column)%layers == layer }
