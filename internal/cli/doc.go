// Package cli is the command line: each file has the commands of one noun. Commands on
// pools make their calls through [api.Client], to a service over the network or to this
// process on a database, and print the answers. The service itself is in package serve.
package cli
