// Package schema manages a database's schema: its version, whether it admits this binary
// (law 10), and its migration, by one process at a time. It does not depend on pools.
package schema
