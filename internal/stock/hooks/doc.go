// Package hooks stores hooks, with their secrets sealed, and the position of each hook in
// each pool. It implements the feed of package hook: it reads the events of pools for the
// relay. It reads the history and the steps in one snapshot.
package hooks
