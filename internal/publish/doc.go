// Package publish writes folders with what is public of committed pools: signed
// checkpoints, the tiles of the log's tree, and the log itself once its seed is
// revealed. It follows the rows after they are committed, so that draws' transactions
// contain none of this work. It keeps law 9 visibly for others: once something is
// signed, nothing that contradicts it is signed.
//
// A folder is its own state. Its last checkpoint says how far it has come; whatever
// other files contain beyond that is written again. Each step is on the disk before
// the next:
//
//	tiles, log ─> checkpoint in the database ─> cosignatures ─> checkpoints ─> checkpoint
package publish
