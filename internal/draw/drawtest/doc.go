// Package drawtest is shared by tests of draws. It judges wins by the law of a draw:
// whether each prize won as often as uniform draws of units predict. It also has the
// prizes, rules and zones that tests begin with.
package drawtest
