// Package api is the wire of the operator: the types of its bodies and answers, once,
// and the typed client. The server encodes these types, and the commands print them.
// A type that is answered is made of the domain by a function Show…; a type that is
// sent is read into the domain by its method Read.
//
// A [Client] makes its calls by a [Caller]: [Remote] asks a service over the network,
// [Local] the handlers of a service in the same process.
package api
