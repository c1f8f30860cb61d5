// Package stock owns the rows of the database: all SQL of the service is here and in the
// packages below. It composes those packages into one [Store]. It keeps law 1: whatever
// lock is held, only the guarded write writes a batch of awards. That write raises the
// pool's version only from the version on which the plan is based. It keeps law 10 with
// [schema.Keeper.CheckSchema]: a binary works only on a schema that admits it.
//
// Each database is a package below this one, and its Dialect is a line of the registry.
// Package engine describes what a database must provide. No other code imports these
// packages. Administrative statements with optional parts are built by squirrel. All
// other statements are constants.
package stock
