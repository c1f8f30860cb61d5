// Package publish writes folders with the public files of committed pools: signed
// checkpoints, the tiles of the log's tree, and, after the reveal of the seed, the log.
// It reads the rows after their commit, so that the transactions of draws contain none of
// this work. It keeps law 9 in a way that others can check: it never signs two
// checkpoints that contradict each other.
//
// A folder holds the publisher's whole state. The last checkpoint shows the progress; if
// other files contain more, that part is written again. Each step is on the disk before
// the next one:
//
//	tiles, log ─> checkpoint in the database ─> cosignatures ─> checkpoints ─> checkpoint
package publish
