// Package floods calls a service as the callers of each role may, as fast as they can and
// slowly, and makes the calls of higher roles meanwhile, which must be answered well. A
// test and a fault experiment share it; the released program does not have it.
package floods
