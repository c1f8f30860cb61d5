package main

import (
	"fmt"
	"io"
	"os"
)

// privateMax is the largest private file that is read, in bytes.
const privateMax = 1 << 20

// readPrivate reads a file of a secret, of tokens or of a key. A link in its
// place is followed only when nobody else can have put it there: it belongs to
// root, as those of Kubernetes do, or to the account of the process.
func readPrivate(path string) ([]byte, error) {
	f, err := openPrivate(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, privateMax+1))
	if err == nil && len(text) > privateMax {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, privateMax)
	}
	return text, err
}

// openPrivate opens a file for readPrivate.
func openPrivate(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	if err == nil || !isLink(err) {
		return f, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !isTrusted(info) {
		return nil, fmt.Errorf("%s is a link that belongs to another account: it is not followed", path)
	}
	return os.Open(path)
}
