// Command size measures the admin page's calls on a large service: 500 pools, and one
// pool of 1,000 prizes with a million awards. It prints the time of each call, and of a
// page that is open and idle what it costs the service.
//
//	go run ./loadtest/size                          # SQLite and PostgreSQL, some minutes
//	go run ./loadtest/size --only sqlite --awards 100000
//	go run ./loadtest/size --service FILE           # the program of another version
//
// Run it at the root of the repository. The limit of a call is a second on an idle
// machine; it is not judged on a busy one.
package main
