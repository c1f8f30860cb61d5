// Package http is the wire: it parses, authenticates and names a draw, hands
// it to the draw service and writes down the answer, and it offers the
// operator's calls on pools, stock and history. It imports the domain and the
// client, not the store: what it needs of the store it declares itself. Admin
// makes the operator's calls from the other end, so that bodies and answers are
// written once.
//
// It keeps three laws. One request gets one clear answer: every error is a
// problem document out of the one table in problem.go, and a draw's problem
// says whether anything happened. Nothing secret leaves: causes go to the log
// with the request's id, never to the caller, and neither tokens nor keys go
// to the log. Everything that comes in has a limit: bytes, time, members,
// characters.
//
// net/http itself refuses malformed HTTP, as plain text or without a body: no
// handler and no connection of ours reads what it writes.
package http
