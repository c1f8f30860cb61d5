// Package gate decides which callers may make a call, and how much each may use.
// Tokens, their roles, client certificates and the operator's settings decide which
// callers may make a call. The use is limited by rank, so that a lower role cannot use
// up resources that a higher role needs.
package gate
