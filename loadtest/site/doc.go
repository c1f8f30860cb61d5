// Package site is what the programs of the load tests share: a place that is
// cleaned up after, so that they can use the throwaway servers of package
// servertest, which are made for tests; and programs to be built and listened to.
package site
