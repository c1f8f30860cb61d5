// Package fault has named points in the way of a draw at which a build with
// the tag faults can be killed, made to panic or made to stand still, so that
// an experiment can break the service exactly there.
//
// It keeps one law: the released program has none of it. Without the tag every
// function here is empty and inlined away; a test of internal/cli
// looks for what might be left.
//
// With the tag, the file that the environment variable DRAWSVC_FAULTS names
// arms one fault, in one line:
//
//	POINT kill | panic | stop | sleep DURATION | slow DURATION
//
// The first draw that comes to the point takes the line: the file is renamed
// to NAME.taken, and then it happens. stop halts the whole process until
// somebody sends SIGCONT, sleep halts the batch alone. The line with slow stays:
// whoever comes to the point sleeps. The file that
// DRAWSVC_CLOCK names moves the clock by which an embedded database goes, which
// is this process's. DRAWSVC_UNGUARDED=1
// leaves the check of the pool's version out of the guarded write, to show
// that experiments notice.
package fault
