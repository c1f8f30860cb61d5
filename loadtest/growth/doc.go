// Command growth measures what grows with the awards of a service, and what does not. It
// fills a throwaway server with real draws over HTTP, each of a hundred units. Meanwhile
// it kills the service and the server, and compares every answer with the rows. At a
// hundredth, at a tenth and at all of the awards it measures audits, proofs, backups, a
// migration, the feed, keys, the admin page and draws.
//
//	go run ./loadtest/growth                                     # a hundred million awards
//	go run ./loadtest/growth --awards 3000000 --only postgres
//	go run ./loadtest/growth doc                                 # fills the page from the published results
//
// It prints how much disk it needs, and refuses to begin with less. Its files are in the
// folder for temporary files, and are removed at the end. Run it at the root of the
// repository.
package main
