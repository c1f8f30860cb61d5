// Package catalogue holds what a slow source says of prizes: names, descriptions,
// images and links. No request waits for the source.
//
//	source ──40 s──> one instance, in a job ──> database ──> the memory of every instance ──> GET /pools/{pool}
//
// One instance fetches, under the lock of the job. What it fetched is stored
// whole or not at all, and stays until a later fetch is good. Every instance
// copies it from the database: before it serves, and within seconds of a new one.
// The catalogue says nothing of odds, stock or awards.
package catalogue
