// Package access holds the bearer tokens of the service: their names, roles and expiry.
// It keeps only digests, so that no token can be read from a file or from memory. A Set
// never changes. A Keeper replaces the current Set by another one while requests are
// answered.
package access
