// Package job runs work that exactly one instance of a fleet does at a time, on
// a schedule: law 1 for jobs, one write decides.
//
// # The row and the lock
//
// A job has a row in the database. A run begins with one write of that row,
// which raises the row's token, and only while no other run is under way. The
// external lock around it keeps instances from meeting there; safety does not
// rest on it. Whatever a run writes is written only while the row holds the
// run's token and beginning ([ErrLost] otherwise), so a runner that wakes up after
// another one has taken over writes nothing.
//
//	         Begun: due, and held by nobody
//	idle ───────────────────────────────────> running
//	 ^                                          │  │ heard of every StaleAfter/5, 30 s at most
//	 │   Finished: ok, failed, lost             │  │
//	 └──────────────────────────────────────────┘  │ silent for StaleAfter
//	                                               └──> due: the next runner begins, this run is lost
//
// # Time
//
// All times of a row are of the database's clock, so that a fleet has one clock.
// A row names the instant from which the job is due. It is moved on when a run
// begins, past all firings that were missed: they are made up for by one run.
package job
