// Package hooks stores hooks, with their secrets sealed, and how far each has come in each
// pool. It reads the events of pools for the relay, with those of steps in the same snapshot:
// it implements the feed of package hook.
package hooks
