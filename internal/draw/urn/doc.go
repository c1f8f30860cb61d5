// Package urn decides draws: each takes one unit of the pool, uniformly at random among
// all units that remain. [Urn] is the cached copy of a pool; [Urn.Plan] decides
// requests in order, and a [Plan] that could not be written is made again with the same
// numbers (law 3). This package does not decide whether a planned award happens: the
// guarded write of package stock does. If it rejects a plan, the plan's units are
// returned to the urn.
//
// Between the request and the award, the rules of the campaign apply: decide.go has the
// gates and the redirects, in order. [Urn.Needs] lists the data about users that they
// need, and [Facts] holds these data. [Run] makes the same decisions in memory, for
// simulations and for package fold.
package urn
