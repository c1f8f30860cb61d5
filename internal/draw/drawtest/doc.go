// Package drawtest holds what tests of draws share: the law of a draw as a judgement
// over wins, whether the prizes came out as often as uniform draws of units let them;
// and the prizes, rules and zones that tests begin with.
package drawtest
