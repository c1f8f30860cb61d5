package servertest

import "os"

// everyVariable makes tests run all combinations instead of a part of them.
const everyVariable = "DRAWSVC_TEST_EVERY"

// Every reports whether a test has to run all combinations of its dimensions:
// DRAWSVC_TEST_EVERY=true, as `make test-all` sets it. Otherwise, a test of three
// dimensions may run only some combinations, such as those that [Meets] selects. Any two
// values of different dimensions must occur together in one of them.
func Every() bool { return os.Getenv(everyVariable) == "true" }

// Meets selects those triples (row, column, layer) that a Latin square has. Each row
// occurs with each column in one layer, and each layer is used about equally often. If
// there are at least as many rows and columns as layers, each layer occurs with each row
// and each column too. layer is from 0 to layers-1.
func Meets(row, column, layer, layers int) bool { return (row+column)%layers == layer }
