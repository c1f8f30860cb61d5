package main

import "time"

type disk struct {
	fileSystem string
	// flush is the median time of a flush of 8 KiB.
	flush time.Duration
}
