//go:build unix

package cli

import "syscall"

// keepFilesPrivate makes every file that the process creates private to its user: a
// database contains who won what, and SQLite creates its files for everyone.
func keepFilesPrivate() { syscall.Umask(0o077) }
