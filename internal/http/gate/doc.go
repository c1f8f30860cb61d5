// Package gate decides which callers may make a call, by tokens and their roles, client
// certificates, and the operator's settings. It also limits by rank how much each caller
// may use, so that a lower role cannot use up resources that a higher role needs.
package gate
