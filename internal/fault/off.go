//go:build !faults || !unix

package fault

// At does nothing.
func At(Point) {}

// Armed is false.
func Armed(Point) bool { return false }

// Unguarded returns the statement as it is.
func Unguarded(statement string) string { return statement }

// Variables returns nothing.
func Variables() []string { return nil }
