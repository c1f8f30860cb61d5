// Package report is the way of every load test from its results to its pages:
// results are written as JSON, tables and pictures are made of them, and pages
// that people write are filled with these between their marks.
package report
