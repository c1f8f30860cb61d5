// Package history records the requests of clients and their answers, and checks them:
// against the contract, against the rows of the database, and, for small pools, with a
// linearizability checker and a model of the urn.
//
// It leaves nothing out: every request is recorded with its answer or the lack of one,
// and every finding names the broken rule.
package history
