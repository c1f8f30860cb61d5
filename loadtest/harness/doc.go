// Package harness has the parts that the programs of the load tests share: a site that
// cleans up, on which the throwaway servers of package servertest run; programs that
// are built, started, awaited and stopped; calls to them; their databases; and the
// check and publication of results.
//
// It knows none of the programs that use it.
package harness
