// Package schema keeps a database's schema: where it stands, whether it admits this
// binary (law 10), and how it is migrated by one of several processes. It knows
// nothing of pools.
package schema
