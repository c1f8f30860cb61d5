// Package stock owns the rows: all SQL of the service is here and in the packages
// below. It composes those into one [Store], and keeps law 1: whatever lock was held
// before, a batch of awards is written only by the guarded write, which raises the
// pool's version only from the version that the plan was made from. It keeps law 10
// with [schema.Keeper.CheckSchema]: a binary works only on a schema that admits it.
//
// A database is a package below this one, whose Dialect is a line of the registry.
// Package engine describes what a database needs. Nothing else outside imports those
// packages. Administrative statements with optional parts are built with squirrel, all
// others are constants.
package stock
