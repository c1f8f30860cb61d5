// Package stocktest is the contract of the store as a suite of tests. Every
// dialect is held to it, against a real server; [Open] gives other packages'
// tests a store of any dialect.
package stocktest
