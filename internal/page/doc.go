// Package page puts generated text into pages that people write, so that no
// figure in them is written by hand.
package page
