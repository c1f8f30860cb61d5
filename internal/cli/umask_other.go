//go:build !unix

package cli

// keepFilesPrivate does nothing: there is no umask here.
func keepFilesPrivate() {}
