// Command proofs writes the published files of a committed pool with many awards, runs
// both verifiers on them, and prints the time and memory of each. It fails if a
// verifier reports a violation, or exceeds its bounds.
//
// The files are made as the service makes them: by the code that decides draws, and by
// the lines, tree and notes of package proof. They are written to a temporary folder,
// or to a given folder, which is kept.
//
// Run it at the root of the repository.
package main
