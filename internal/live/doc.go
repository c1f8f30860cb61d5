// Package live tells many pages what the pools hold, from one reader. The reader
// works only while somebody listens. It reads once a second at most, and
// for a tenth of the time at most.
//
// A frame is encoded once and shared by all. A listener has no queue: one that is
// slow gets the newest frame when it comes back, and misses those between. Two
// limits keep pages from slowing draws: the number of listeners, and what all of
// them together are sent in a second. Beyond the second limit each listener gets
// frames less often, in its turn.
//
//	                  first listener                    nobody listens
//	asleep ──────────────────────────────> reading ──────────────────────> asleep
//	                                        │    ^
//	                                        └────┘ each second: read, encode, wake
//
// It keeps law 5: every loop has a bound, every wait a limit, every queue a length.
package live
