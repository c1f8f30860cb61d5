//go:build unix

package cli

import "syscall"

// keepFilesPrivate makes every file that the process creates private to its user: a
// database shows which user won which prize, and SQLite creates its files readable by
// everyone.
func keepFilesPrivate() { syscall.Umask(0o077) }
