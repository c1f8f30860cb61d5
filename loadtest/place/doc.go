// Package place prepares the place of a load test: it builds the programs, and starts
// and opens the databases and the lock services. It has the names and statements that
// each database needs, so that no load test contains these differences.
package place
