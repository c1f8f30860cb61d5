//go:build !faults || !unix

package fault

import "time"

// At does nothing.
func At(Point) {}

// Armed returns false.
func Armed(Point) bool { return false }

// Unguarded returns the statement as it is.
func Unguarded(statement string) string { return statement }

// Moved returns the time as it is.
func Moved(t time.Time) time.Time { return t }

// Variables returns nothing.
func Variables() []string { return nil }
