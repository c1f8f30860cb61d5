// Command noop is the program that the benchmark divides by: a minimal gin handler. It
// parses a draw, decides nothing, and answers with the same members as the service. The
// answers have the service's size, except for a few bytes of headers. Its cost is
// therefore only that of HTTP, JSON and the kernel. It answers draws on the pool
// "sold-out" with 409, as the service does.
package main
