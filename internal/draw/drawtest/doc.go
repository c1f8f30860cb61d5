// Package drawtest holds the law of a draw as a judgement over wins: whether
// the prizes came out as often as uniform draws of units let them.
package drawtest
