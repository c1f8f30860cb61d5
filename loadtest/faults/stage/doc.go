// Package stage is where a fault experiment takes place: the servers that its
// cells share, the database and the lock service of one cell, the links between
// them, and the instances of the service, which can be killed, halted and started
// again. It also says what the load left behind there.
//
// It knows neither what is asked of the service nor what breaks.
package stage
