// Package http is the wire: it parses, authenticates and names a draw, passes it to the
// draw service and writes the answer, and it provides the operator's calls on pools,
// stock and history. It imports the domain and the client, not the store: store.go
// declares the methods of the store that it needs.
//
// From the bottom: server.go has the state that all calls share, call.go one call and
// its route, answer.go and decode.go output and input. Then there is a file of handlers
// for each subject. On top, fail.go turns errors into answers, observe.go counts and
// logs each call, routes.go is the table of all calls, and serve.go runs the server.
// Four packages below do not depend on calls: conns (connections), gate (who may call,
// and how much), packed (compression and copies) and problem (the table of problems).
//
// It keeps three laws. One request gets one clear answer: every error is a problem
// document from the one table in package problem, and a draw's problem states whether
// anything happened. No secret is disclosed: causes are logged with the request's id
// and never sent to the caller, and neither tokens nor keys are logged. All input has
// limits: bytes, time, members, characters.
//
// net/http itself refuses malformed HTTP, with plain text or without a body; none of
// our handlers or connections reads what it writes.
package http
