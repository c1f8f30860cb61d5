// Package sqlitefile handles an SQLite database as files: the lock that reserves it
// for one process, whether the write-ahead log (WAL) beside it belongs to it, and
// the replacement of the whole by a backup. It reads the files as bytes and
// opens no database.
//
// It keeps this law: a database that is served is one state, never a mixture of
// two. SQLite itself applies any WAL that it finds. A WAL contains whole pages, so
// an older copy of the file beside the WAL of a crash becomes a mixture, whose
// structure may be valid.
//
// # Generations
//
// A WAL grows until all of it is copied to the file; the next write restarts it. The
// frames that are written from one restart to the next are a generation, and the file
// at the beginning of the generation is its base. Pages of the base that the generation
// did not change exist only there. So a WAL belongs to a file if the file is the base
// of the WAL's generation, or that base with some pages of the generation.
//
// An id, SQLite's user_version, distinguishes the bases. Only the service begins
// generations, and it changes the id around each beginning:
//
//	copy the WAL into the file
//	id := a random even number     restarts the WAL
//	copy the WAL into the file     which, now with the even id, is complete
//	id := the next number          restarts the WAL: the generation, with this as its first frame
//
// Only a complete file has the even id, and no two files ever have the same even id. So
// [Inspect] compares the file's header with the first frame of the WAL, and with the
// headers in later frames. A copy of the file from another time, or one that SQLite
// made, has another header.
//
// Some cases cannot be recognized this way. They are in doubt, not wrong: a generation
// that another program began, a crash between the two ids, and a file without a WAL
// that differs from the file that was last closed here. The caller then examines the
// rows, which takes time.
package sqlitefile
