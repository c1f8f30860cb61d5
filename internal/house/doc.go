// Package house checks the rules of the repository that no linter checks. Links resolve,
// sentences and files are short, and banned words do not return. The design page is true:
// its tests exist, and packages import what it says. The package contains only tests.
package house
