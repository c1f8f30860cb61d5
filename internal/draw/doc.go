// Package draw is the domain's words: pools, prizes, requests, awards, changes and rules
// as types, what may be asked for, and errors by code. It is pure: no goroutine, no lock,
// no SQL, no HTTP. It imports nothing of ours, so that every other room may import it.
//
// The rooms below it decide: package rules reads documents, package urn decides draws,
// package fold judges a log by the same decisions, and package odds states the chances.
package draw
