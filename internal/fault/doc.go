// Package fault has named points on the path of a draw at which a build with
// the tag faults can be killed, made to panic or paused, so that an experiment can
// break the service exactly there.
//
// It keeps one law: the released program contains none of it. Without the tag every
// function here is empty and inlined; a test of internal/cli searches for what might
// be left.
//
// With the tag, the file that the environment variable DRAWSVC_FAULTS names
// arms one fault, in one line:
//
//	POINT kill | panic | stop | sleep DURATION | slow DURATION
//
// The first draw that reaches the point takes the line: the file is renamed to
// NAME.taken, and then the fault happens. stop pauses the whole process until it gets
// SIGCONT, sleep pauses only the batch. A line with slow stays: every draw that reaches
// the point sleeps. The file that DRAWSVC_CLOCK names moves the clock of an embedded
// database, which is this process's clock. DRAWSVC_UNGUARDED=1 removes the check of
// the pool's version from the guarded write, to show that experiments notice that.
package fault
