// Package http is the HTTP interface. It parses and authenticates a draw, gives it a
// name, passes it to the draw service and writes the answer. It also provides the
// operator's calls on pools, stock and history. It imports the domain and the client, not
// the store: store.go declares the methods of the store that it needs.
//
// From the bottom: server.go has the state that all calls share, call.go has one call and
// its route, answer.go writes output, and decode.go reads input. Then there is a file of
// handlers for each subject. On top, fail.go turns errors into answers, observe.go counts
// and logs each call, routes.go is the table of all calls, and serve.go runs the server.
// Four packages below do not depend on calls: conns (connections), gate (who may call,
// and how much), packed (compression and copies) and problem (the table of problems).
//
// The package keeps three laws. Each request gets one clear answer: every error is a
// problem document from the table in package problem. The problem of a draw states
// whether anything happened. No secret is disclosed: causes are logged with the request's
// id and never sent to the caller, and neither tokens nor keys are logged. All input has
// limits: bytes, time, members, characters.
//
// net/http itself refuses malformed HTTP, with plain text or without a body; our handlers
// and connections do not see those answers.
package http
