// Package serve wires the service together: its flags, the files that it follows, its
// listeners, metrics, readiness and jobs, from the store to the wire. It contains no
// rule of draws. serve.go starts a service; local.go lets a command call the handlers
// of a service in the same process.
package serve
