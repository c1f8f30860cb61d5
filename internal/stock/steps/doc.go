// Package steps stores the steps of awards: the events in the life of an award after it
// was won. Steps are a second log besides the history. They are numbered per pool without
// gaps, and do not create versions of the pool. Only a returned unit affects later draws.
// It returns by a move of stock, in the transaction of its step.
//
// A transaction that writes a step locks the pool's row in step_heads, but not the pool's
// own row. If a unit returns or a code is replaced, it takes more locks, in the order
// pool, head of steps, head of codes. Draws lock only the pool.
package steps
