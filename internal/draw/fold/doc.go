// Package fold judges a pool's log, entry by entry, by the code that decides draws:
// [Fold] names what is unlawful in it, and [Recomputation] decides its draws again,
// from the numbers of a committed pool.
package fold
