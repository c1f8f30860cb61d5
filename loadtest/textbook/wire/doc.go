// Package wire speaks the service's HTTP contract for the textbook programs,
// so that each of them holds only what it is there to show: how two draws on
// one pool are kept apart, or are not.
//
// It covers what the oversell script needs: draws, pools, stock, the log and
// an audit counted from it. Tokens are not asked for; nothing here is meant to
// be deployed.
package wire
