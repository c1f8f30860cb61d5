// Package packed compresses answers. It compresses an answer that many callers share
// only once, and keeps it for a second, with its tag.
package packed
