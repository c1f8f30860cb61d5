// Package experiments has the faults that the service must survive, and the
// places where each is tried: every function that ends in "Faults" is a family,
// and Cells is the whole list, after the programs that must fail.
//
// An experiment is a function that breaks something of a trial's stage and ends
// when the fault has; a further one is a function and a line of its family.
package experiments
