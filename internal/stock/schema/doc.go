// Package schema manages a database's schema: its version, whether it admits this
// binary (law 10), and its migration by one of several processes. It knows nothing of
// pools.
package schema
