// Package site lets programs outside of tests use the throwaway servers of
// package servertest, which are made for tests.
package site
