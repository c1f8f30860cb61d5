// Package stage is where a fault experiment takes place. It has the servers that its
// cells share, the database and the lock service of one cell, the links between them,
// and the instances of the service, which can be killed, halted and started again. It
// also finds what the load left behind there.
//
// It depends neither on the requests to the service nor on the faults.
package stage
