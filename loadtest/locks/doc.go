// Command locks measures the external locks. It runs the suite of package lockertest,
// then measures the speed of every lock, one after another. It writes the tables of
// docs/locks.md between its marks locks:begin and locks:end.
//
//	go run ./loadtest/locks          # the suite, the speeds and the page; some 20 minutes
//	go run ./loadtest/locks speed    # only the speeds, on the terminal
//	go run ./loadtest/locks doc      # the page, from the last results
//
// Every cell of the tables comes from the results; missing results are marked as
// missing. Run it at the root of the repository.
package main
