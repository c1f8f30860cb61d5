// Package sqlitefile knows an SQLite database as files: the lock that keeps it
// to one process, whether the write-ahead log (WAL) beside it is its own, and
// the replacement of the whole by a backup. It reads the files as bytes and
// opens no database.
//
// It keeps this law: a database that is served is one state, never a mixture of
// two. SQLite itself applies any WAL that it finds. A WAL holds whole pages, so
// that an older copy of the file beside the WAL of a crash becomes a mixture,
// which may well be sound in structure.
//
// # Generations
//
// A WAL grows until all of it is copied into the file; the next write begins it
// anew. What is written from one beginning to the next is a generation, and the
// file as the generation found it is its base. Pages of the base that the
// generation did not change are nowhere else. So a WAL belongs to a file if
// the file is the base of its generation, or the base with some of the
// generation's own pages.
//
// The file tells its bases apart by an id, SQLite's user_version. The service
// alone begins generations, and changes the id around each beginning:
//
//	copy the WAL into the file
//	id := a random even number     begins the WAL anew
//	copy the WAL into the file     which, now with the even id, is complete
//	id := the next number          begins the WAL anew: the generation, with this as its first frame
//
// Only a complete file bears the even id, and no other one ever does. So
// [File.Verdict] compares the file's header with the first frame of the WAL,
// and with the headers that later frames hold. A copy that somebody made of the
// file at another time, or by SQLite's own means, has another header.
//
// What cannot be recognized this way is in doubt, not wrong: a generation that
// another program began, a crash between the two ids, and a file without a WAL
// that is not the one which was closed here last. The caller then examines the
// rows, which takes time.
package sqlitefile
