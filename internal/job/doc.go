// Package job runs scheduled work that only one instance of a fleet may do at a time. One
// write decides which instance does it, as one write decides draws (law 1).
//
// # The row and the lock
//
// A job has a row in the database. A run begins with one write of that row, which raises
// the row's token, and succeeds only while no other run is under way. The external lock
// around it keeps instances from colliding there; safety does not depend on it. A run can
// write only while the row has the run's token and its time of beginning ([ErrLost]
// otherwise). So a runner that resumes after another one has taken over writes nothing.
//
//	         Begun: due, and nobody holds it
//	idle ───────────────────────────────────> running
//	 ^                                          │  │ reports every StaleAfter/5, 30 s at most
//	 │   Finished: ok, failed, lost             │  │
//	 └──────────────────────────────────────────┘  │ silent for StaleAfter
//	                                               └──> due: the next runner begins, this run is lost
//
// # Time
//
// All times of a row are by the database's clock, so that a fleet has one clock. The row
// contains the time at which the job is next due. When a run begins, it moves that time
// past all missed firings, so that one run makes up for all of them.
package job
