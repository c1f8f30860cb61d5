package servertest

import "os"

// everyVariable makes tests run all combinations instead of a selection.
const everyVariable = "DRAWSVC_TEST_EVERY"

// Every reports whether a test has to run all combinations of its dimensions, because
// DRAWSVC_TEST_EVERY is true; `make test-all` sets it. Otherwise a test of three
// dimensions may run only a selection, such as the one of [Meets]. Any two values of
// different dimensions must occur together in the selection.
func Every() bool { return os.Getenv(everyVariable) == "true" }

// Meets selects triples (row, column, layer) that form a Latin square. Each row occurs
// with each column in one layer, and each layer is used about equally often. If there are
// at least as many rows and columns as layers, each layer also occurs with each row and
// each column. layer is from 0 to layers-1.
func Meets(row, column, layer, layers int) bool { return (row+column)%layers == layer }
