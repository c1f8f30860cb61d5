// Package stocktest is the contract of the store as a suite of tests. Every dialect is
// tested against it on a real server. [Open] gives the tests of other packages a store of
// any dialect.
package stocktest
