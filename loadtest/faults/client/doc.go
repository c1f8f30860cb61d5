// Package client is the load on a stage: clients that draw, repeat and move stock, the
// history of their requests and responses, and the comparison of that history with the
// rows of the database.
//
// A Trial is one period of load, from the first draw to the verdict.
package client
