// Package catalogue holds data about prizes from a slow source: names, descriptions,
// images and links. No request waits for the source.
//
//	source ──40 s──> one instance, in a job ──> database ──> the memory of every instance ──> GET /pools/{pool}
//
// One instance fetches, under the lock of the job. A fetched catalogue is stored
// completely or not at all, and stays until a later fetch succeeds. Every instance copies
// it from the database before it serves, and again within seconds after a change. The
// catalogue does not affect odds, stock or awards.
package catalogue
