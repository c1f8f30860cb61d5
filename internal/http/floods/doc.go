// Package floods calls a service as the callers of each role may, as fast as possible
// and slowly. Meanwhile it makes the calls of higher roles, which must succeed. A test
// and a fault experiment share it; the released program does not contain it.
package floods
