// Package sqlitefile handles an SQLite database as files. It locks the database for one
// process, finds out whether the write-ahead log (WAL) beside it belongs to it, and
// replaces all of it by a backup. It reads the files as bytes and opens no database.
//
// It keeps this law: a database that is served is one state, never a mixture of two.
// SQLite itself applies any WAL that it finds, and a WAL contains whole pages. So an
// older copy of the file, beside the WAL that a crash left, becomes a mixture of two
// states. The structure of that mixture may be valid.
//
// # Generations
//
// A WAL grows until all of it is copied to the file; the next write restarts it. The
// frames that are written from one restart to the next are a generation. The file at the
// beginning of the generation is its base. Only the base contains the pages that the
// generation did not change. So a WAL belongs to a file if the file is the base of the
// WAL's generation, or that base with some pages of the generation.
//
// An id distinguishes the bases: SQLite's user_version. Only the service begins
// generations, and it changes the id before and after each beginning:
//
//	copy the WAL into the file
//	id := a random even number     restarts the WAL
//	copy the WAL into the file     which, now with the even id, is complete
//	id := the next number          restarts the WAL: the generation, with this as its first frame
//
// Only a complete file has the even id, and no two files ever have the same even id. So
// [Inspect] compares the file's header with the first frame of the WAL, and with the
// headers in later frames. A copy of the file from another time has another header, and
// so has a copy that SQLite made.
//
// Some cases cannot be recognized this way. The result for them is in doubt, never wrong.
// The cases are: a generation that another program began, a crash between the two ids,
// and a file that has no WAL and differs from the file that was last closed here. The
// caller then examines the rows, which takes time.
package sqlitefile
