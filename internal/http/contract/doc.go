// Package contract judges exchanges over HTTP by openapi.yaml, the description of the
// interface. Tests of package http, the fault clients and the load proof share it; the
// released program does not have it.
//
// Callers must ignore members of responses that they do not know. The contract does
// not: an answer with a member, a header, a code or a status that is not described
// fails, and so does a request that was taken and is not as described.
package contract
