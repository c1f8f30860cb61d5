// Package stock owns the rows: all SQL of the service is here and in the packages
// below. It composes those packages into one [Store], and keeps law 1: whatever lock
// was held, a batch of awards is written only by the guarded write, which raises the
// pool's version only from the version on which the plan is based. It keeps law 10 with
// [schema.Keeper.CheckSchema]: a binary works only on a schema that admits it.
//
// Each database is a package below this one, and its Dialect is a line of the registry.
// Package engine describes what a database needs. No other code imports those packages.
// Administrative statements with optional parts are built with squirrel, all others are
// constants.
package stock
