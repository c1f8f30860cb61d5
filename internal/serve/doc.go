// Package serve is the wiring of the service: its flags, the files that it follows, its
// listeners, metrics, readiness and jobs, from the store up to the wire. It holds no
// rule of draws. serve.go begins a service, and local.go has the handlers of one answer
// a command in the same process.
package serve
