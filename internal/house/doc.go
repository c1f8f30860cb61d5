// Package house holds the rules of the repository that no linter knows: the
// tests that its design page names are there, and the words that were given up
// stay out of the tree. It has tests alone.
package house
