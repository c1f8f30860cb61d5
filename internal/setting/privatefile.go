package setting

import (
	"fmt"
	"io"
	"os"
)

// PrivateMax is the maximum size of a private file, in bytes.
const PrivateMax = 1 << 20

// ReadPrivate reads a file that contains a secret, tokens or a key. If the path is a
// link, it must belong to root, as in Kubernetes, or to the account of the process.
// Otherwise another account could have created it.
func ReadPrivate(path string) ([]byte, error) {
	f, err := openPrivate(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, PrivateMax+1))
	if err == nil && len(text) > PrivateMax {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, PrivateMax)
	}
	return text, err
}

// openPrivate opens a file for ReadPrivate.
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

// ReadFiles is like ReadPrivate, for several files.
func ReadFiles(paths []string) (texts [][]byte, err error) {
	for _, path := range paths {
		text, err := ReadPrivate(path)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}
