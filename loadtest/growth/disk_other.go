//go:build !linux

package main

import "errors"

func freeDisk(string) (int64, error) {
	return 0, errors.New("free disk and memory are read only on Linux")
}
