// Package stock owns the rows: all SQL of the service is here and below. It composes
// the rooms below it into one [Store], and keeps law 1: whatever lock was held before, a batch of
// awards is written by the guarded write alone, which raises the pool's version only
// from the version that the plan was made from. It keeps law 10 with
// [schema.Keeper.CheckSchema]: a binary works on no schema that does not admit it.
//
// A database is a package below this one, whose Dialect is a line of the
// registry. What a database has to be is in package engine. Nothing else outside
// imports those packages. The statements of administration are built with
// squirrel where parts are optional, else they are constants.
package stock
