// Command noop is the ruler of the benchmark: a gin handler as one writes it in five
// minutes. It parses a draw, decides nothing, and returns an answer with the members of
// the service's and, except for a few bytes of headers, its size. Its cost is therefore
// only that of HTTP, JSON and the kernel. It answers draws on the pool "sold-out" with
// 409, as the service does.
package main
