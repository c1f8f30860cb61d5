// Command noop is the ruler of the benchmark: a gin handler as one writes it in
// five minutes, which parses a draw and answers one, and decides nothing. Its
// answers have the members and, but for a few bytes of headers, the size of the
// service's, so that what it costs is HTTP, JSON and the kernel alone. Draws on the pool "sold-out" are answered
// 409, as the service answers them.
package main
