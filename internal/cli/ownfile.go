package cli

import (
	"fmt"
	"io"
	"os"
)

// ownFileMax is the longest file of checkpoints or receipts that is read, in bytes. The
// checkpoints of a week, one each second, are half of it.
const ownFileMax = 256 << 20

// readOwnFile reads a file that the caller names. It must be regular: a device may have
// no end, and a FIFO keeps its reader waiting.
func readOwnFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, ownFileMax+1))
	if err == nil && len(content) > ownFileMax {
		return nil, fmt.Errorf("%s is longer than %d MiB", path, ownFileMax>>20)
	}
	return content, err
}

// openFolder opens a folder that no link leads out of.
func openFolder(path string) (*os.Root, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() { // opening a FIFO waits for its writer
		return nil, fmt.Errorf("%s is no folder", path)
	}
	return os.OpenRoot(path)
}
