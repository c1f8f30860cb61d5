// Package client is the load on a stage: clients that draw, repeat and move
// stock, each request with its response in a history, and the judgement of that
// history beside the rows of the database.
//
// A Trial is one stretch of load, from the first draw to the verdict.
package client
