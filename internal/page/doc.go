// Package page writes results into files, and into pages that people write, as generated
// text, so that no figure in a page is written by hand. It also finds the commands of
// pages, so that they can be executed.
package page
