// Package draw defines the domain: pools, prizes, requests, awards, changes and rules
// as types, the checks of requests, and errors by code. It is pure: no goroutine, no
// lock, no SQL, no HTTP. It imports no other package of the service, so that every
// package may import it.
//
// The packages below it decide: package rules reads documents, package urn decides
// draws, package fold checks a log with the same decisions, and package odds computes
// the chances.
package draw
