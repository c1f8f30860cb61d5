// Package report turns the results of every load test into pages: it writes results as
// JSON, makes tables and pictures of them, and fills hand-written pages with these
// between their marks.
package report
