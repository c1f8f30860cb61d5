// Package harness is what the programs of the load tests share, each thing once:
// a site that is cleaned up after, on which the throwaway servers of package
// servertest run; programs that are built, started, awaited and stopped; calls to
// them; the databases beside them; and how results are judged and published.
//
// It knows none of the programs that use it.
package harness
