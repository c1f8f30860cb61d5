package servertest

import "os"

// everyVariable is the switch between all combinations of what tests range
// over and a choice of them.
const everyVariable = "DRAWSVC_TEST_EVERY"

// Every says whether a test has to run every combination of what it ranges
// over: DRAWSVC_TEST_EVERY=true, as `make test-all` sets it. Without it a test
// of three dimensions may run a choice in which each two of them meet, such as
// [Meets] makes.
func Every() bool { return os.Getenv(everyVariable) == "true" }

// Meets chooses of all (row, column, layer) those that a Latin square has: each
// row meets each column in one layer, and the layers take turns. Where rows and
// columns are at least as many as layers, each layer meets each of them too.
// layer is from 0 to layers-1.
func Meets(row, column, layer, layers int) bool { return (row+column)%layers == layer }
