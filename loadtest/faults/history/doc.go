// Package history records what clients asked and were answered, and judges it: by the
// words of the contract, by the rows of the database, and, for small pools, by a model
// of the urn that a checker of linearizability uses.
//
// It follows the first law of an experiment: nothing is left out. Every request is
// recorded with its answer or the lack of one, and a judgement names the rule that is
// broken.
package history
