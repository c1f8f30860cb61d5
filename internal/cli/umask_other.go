//go:build !unix

package cli

// keepFilesPrivate does nothing: this system has no umask.
func keepFilesPrivate() {}
