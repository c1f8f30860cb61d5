// Package stocktest is the contract of the store as a suite of tests. Every
// dialect is checked against it, on a real server; [Open] gives other packages'
// tests a store of any dialect.
package stocktest
