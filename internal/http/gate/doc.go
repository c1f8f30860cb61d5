// Package gate decides who may call, and how much each may use. Tokens, their roles,
// client certificates and what the operator opened decide who may call. How much each
// may use is limited by rank, so that a lower role cannot use up what a higher one
// needs.
package gate
