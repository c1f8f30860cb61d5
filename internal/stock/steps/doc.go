// Package steps keeps the steps of awards: what became of an award after it was won. Steps
// are a second log beside the history, numbered per pool without gap, and make no version.
// Only a unit that returns affects later draws. It returns by a move of stock, in the
// transaction of its step.
//
// Whoever writes a step locks the pool's row of step_heads, never that of the pool, unless
// a unit returns or a code is replaced: then the locks are taken in the order pool, head of
// steps, head of codes. Draws lock none of them but the pool.
package steps
