// Package harness has the parts that the programs of the load tests share. A site
// cleans up; the throwaway servers of package servertest run on it. Programs are built,
// started, awaited and stopped. The package also has calls to them, their databases,
// and the check and publication of results.
//
// It depends on none of the programs that use it.
package harness
