// Package http is the wire: it parses, authenticates and names a draw, hands
// it to the draw service and writes down the answer, and it offers the
// operator's calls on pools, stock and history. It imports the domain and the
// client, not the store: what it needs of the store it declares itself, in store.go.
//
// From the bottom: server.go has what all calls share, call.go one call and its route,
// answer.go and decode.go what goes out and comes in. Then a file of handlers for each
// subject. On top, fail.go turns errors into answers, observe.go counts and logs each call,
// routes.go is the table of all calls, and serve.go runs the server. Four rooms below know
// nothing of calls: conns (connections), gate (who may call, and how much), packed
// (compression and copies) and problem (the table of problems).
//
// It keeps three laws. One request gets one clear answer: every error is a
// problem document out of the one table in package problem, and a draw's problem
// says whether anything happened. Nothing secret leaves: causes go to the log
// with the request's id, never to the caller, and neither tokens nor keys go
// to the log. Everything that comes in has a limit: bytes, time, members,
// characters.
//
// net/http itself refuses malformed HTTP, as plain text or without a body: no
// handler and no connection of ours reads what it writes.
package http
