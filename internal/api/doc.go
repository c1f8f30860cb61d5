// Package api is the operator's interface. It has the only definition of its bodies and
// responses as types, and the typed client. The server encodes these types, and the
// commands print them. Functions named Show… convert the domain to types of responses.
// Methods named Read convert types of requests and of responses to the domain.
//
// A [Client] makes its calls through a [Caller]: [Remote] calls a service over the
// network, [Local] the handlers of a service in the same process.
package api
