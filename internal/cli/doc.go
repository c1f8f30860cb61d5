// Package cli is the command line: a file holds the commands of one noun. Commands on
// pools make their calls by [api.Client], of a service over the network or of this
// process on a database, and print what they are answered. The service itself is in
// package serve.
package cli
