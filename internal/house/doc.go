// Package house holds the rules of the repository that no linter knows: links
// resolve, sentences are short, words that were given up stay out, and the
// tests that the design page names exist. It has tests alone.
package house
