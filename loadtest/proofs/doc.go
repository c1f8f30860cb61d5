// Command proofs writes the published files of a committed pool with many awards,
// has both verifiers check them, and says how long each took and how much memory.
// It fails where a verifier finds something, or needs more than it may.
//
// The files are made as the service makes them: the code that decides draws
// decides these, and the lines, the tree and the notes are those of package
// proof. They are written to a temporary folder, or to one that is named and kept.
//
// Run it at the root of the repository.
package main
