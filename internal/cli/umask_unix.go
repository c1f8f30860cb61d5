//go:build unix

package cli

import "syscall"

// keepFilesPrivate makes every file that the process creates its user's alone:
// a database holds who won what, and SQLite creates its files for everyone.
func keepFilesPrivate() { syscall.Umask(0o077) }
