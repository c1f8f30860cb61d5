// Package gate decides who may call, and how much each may use. Who may call follows from
// tokens, their roles, client certificates and what the operator opened. How much each may
// use is bounded by rank, so that a lower role cannot use up what a higher one needs.
package gate
