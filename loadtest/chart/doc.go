// Command chart draws the picture of a load run: answers per second, and the
// stock that remains, falling to exactly zero and staying there. It reads the
// timeline that command matrix samples and writes an SVG that can be read on a
// light and on a dark page.
//
//	go run ./loadtest/chart loadtest/results/timeline.json loadtest/results/draws.svg
package main
