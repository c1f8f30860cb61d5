// Package experiments has the faults that the service must survive, and the places
// where each is run. Every function that ends in "Faults" is a family. Cells returns
// the whole list, after the programs that must fail.
//
// An experiment is a function that breaks something of a trial's stage and returns when
// the fault has ended. To add one, write the function and a line in its family.
package experiments
