// Package live sends the contents of the pools from one reader to many pages. The reader
// works only while a page listens. It reads at most once a second, and uses at most a
// tenth of the time for reading.
//
// A frame is encoded once and shared by all listeners. A listener has no queue: a slow
// listener gets the newest frame when it is ready again, and misses the frames between.
// Two limits prevent pages from slowing draws: the number of listeners, and the bytes
// that all of them together get in a second. Beyond the second limit the listeners get
// frames less often, in rotation.
//
//	                  first listener                    nobody listens
//	asleep ──────────────────────────────> reading ──────────────────────> asleep
//	                                        │    ^
//	                                        └────┘ each second: read, encode, wake
//
// It keeps law 5: every loop has a bound, every wait a limit, every queue a length.
package live
