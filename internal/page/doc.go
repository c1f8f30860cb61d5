// Package page writes results: into files, and as generated text into pages that
// people write, so that no figure in them is written by hand. It also finds the
// commands of such pages, so that they can be executed.
package page
