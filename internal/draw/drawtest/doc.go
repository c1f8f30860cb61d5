// Package drawtest is shared by tests of draws. Its judge compares the wins with the law
// of a draw: each prize must win about as often as uniform draws of units predict. It
// also has the prizes, rules and zones that tests begin with.
package drawtest
