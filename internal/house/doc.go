// Package house holds the rules of the repository that no linter knows: links
// resolve, sentences and files are short, words that were given up stay out, and
// the design page is true: its tests exist, and packages import what it says. It has tests alone.
package house
