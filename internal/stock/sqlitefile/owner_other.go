//go:build !unix

package sqlitefile

// inheritOwner does nothing where files have no owners in this sense.
func inheritOwner(string, string) error { return nil }

// noFollow is nothing that the system has.
const noFollow = 0
