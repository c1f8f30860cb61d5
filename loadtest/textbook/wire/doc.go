// Package wire implements the service's HTTP contract for the textbook programs, so
// that each of them has only the code that it demonstrates: how two draws on one pool
// exclude each other, or do not.
//
// It covers the calls that the oversell script needs: draws, pools, stock, the log and
// an audit that counts the log. It checks no tokens; nothing here is meant to be
// deployed.
package wire
