// Package contract judges HTTP exchanges by openapi.yaml, the description of the
// interface. Tests of package http, the fault clients and the load proof share it; the
// released program does not contain it.
//
// Callers must ignore unknown members of responses. This package does not ignore them:
// an answer with an undescribed member, header, code or status fails, and so does an
// accepted request that differs from the description.
package contract
