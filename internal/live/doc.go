// Package live sends many pages what the pools hold, from one reader. The reader
// works only while somebody listens. It reads at most once a second, and spends at
// most a tenth of the time on reading.
//
// A frame is encoded once and shared by all listeners. A listener has no queue: a slow
// one gets the newest frame when it is ready again, and misses those between. Two
// limits keep pages from slowing draws: the number of listeners, and what all of them
// together are sent in a second. Beyond the second limit the listeners get frames less
// often, by turns.
//
//	                  first listener                    nobody listens
//	asleep ──────────────────────────────> reading ──────────────────────> asleep
//	                                        │    ^
//	                                        └────┘ each second: read, encode, wake
//
// It keeps law 5: every loop has a bound, every wait a limit, every queue a length.
package live
