// Package history records what clients asked and were answered, and judges it:
// against the words of the contract, against the rows of the database, and, for
// small pools, against a model of the urn by a check of linearizability.
//
// It keeps the law of an experiment: nothing is left out. Every request is
// written down with its answer or the lack of one, and a judgement names the
// rule that is broken.
package history
