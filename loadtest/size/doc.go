// Command size measures the admin page's calls on a large service: 500 pools, and one
// pool of 1,000 prizes with a million awards. Ten of the prizes have codes, and a tenth of
// the awards has steps. It prints the time of each call, and what a page that is open and
// idle costs the service.
//
//	go run ./loadtest/size                          # SQLite and PostgreSQL, some minutes
//	go run ./loadtest/size --only sqlite --awards 100000
//	go run ./loadtest/size --service FILE           # the program of another version
//	go run ./loadtest/size --service FILE --old     # of one without codes and steps
//
// Run it at the root of the repository. The limit of a call is a second on an idle
// machine; it is not judged on a busy one.
package main
