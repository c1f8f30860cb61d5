// Package fault defines named points in the code of draws, agendas, codes, steps, hooks
// and jobs. At a point, a build with the tag faults can be killed, made to panic or
// paused. Experiments break the service exactly there.
//
// It keeps one law: the released program contains no fault. Without the tag, every
// function here is empty and inlined. A test of internal/cli searches the program for
// remains.
//
// With the tag, the environment variable DRAWSVC_FAULTS names a file, whose only line
// arms one fault:
//
//	POINT kill | panic | stop | sleep DURATION | slow DURATION
//
// The first draw that reaches the point takes the line: the file is renamed to
// NAME.taken, and then the fault happens. stop pauses the whole process until it gets
// SIGCONT, sleep pauses only the batch. A line with slow stays: every draw that reaches
// the point sleeps. The file that DRAWSVC_CLOCK names moves the clock of an embedded
// database, which is this process's clock. DRAWSVC_UNGUARDED=1 removes the check of the
// pool's version from the guarded write, to show that experiments detect its absence.
package fault
