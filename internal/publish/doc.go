// Package publish writes folders with the public files of committed pools: signed
// checkpoints, the tiles of the log's tree, and the log itself once its seed is
// revealed. It follows the rows after they are committed, so that draws' transactions
// contain none of this work. It keeps law 9 in a way that others can check: after it
// has signed a checkpoint, it signs none that contradicts it.
//
// A folder holds the publisher's whole state. Its last checkpoint is the progress;
// content of other files beyond that checkpoint is written again. Each step is on the
// disk before the next:
//
//	tiles, log ─> checkpoint in the database ─> cosignatures ─> checkpoints ─> checkpoint
package publish
