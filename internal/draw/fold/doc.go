// Package fold checks a pool's log, entry by entry, with the code that decides draws.
// [Fold] names the entries that break the rules. [Recomputation] repeats the decisions,
// with the numbers of a committed pool.
package fold
