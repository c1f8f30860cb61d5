//go:build !unix

package sqlitefile

// inheritOwner does nothing on systems whose files have no Unix owners.
func inheritOwner(string, string) error { return nil }

// noFollow is 0 because the system has no such flag.
const noFollow = 0
