// Package house checks the rules of the repository that no linter checks: links
// resolve, sentences and files are short, banned words do not return, and the design
// page is true: its tests exist, and packages import what it says. It contains only
// tests.
package house
