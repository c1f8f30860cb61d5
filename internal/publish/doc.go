// Package publish keeps folders with what is public of committed pools: signed
// checkpoints, the tiles of the log's tree, and the log itself once its seed is
// revealed. It follows the rows from behind, so that nothing of it is in a draw's
// transaction. It keeps law 9 where others can see it: what was signed once is
// never signed otherwise.
//
// A folder is its own state. Its last checkpoint says how far it has come; what
// lies behind that in other files is written again. Each step is on the disk
// before the next:
//
//	tiles, log ─> checkpoint in the database ─> cosignatures ─> checkpoints ─> checkpoint
package publish
