//go:build !unix

package main

// keepFilesPrivate does nothing: there is no umask here.
func keepFilesPrivate() {}
