package harness

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// SizeOf returns the bytes and the number of all files of folders. Files that are removed
// meanwhile do not count.
func SizeOf(folders ...string) (bytes, files int64, err error) {
	for _, folder := range folders {
		err = errors.Join(err, filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				var info fs.FileInfo
				if info, err = entry.Info(); err == nil {
					bytes, files = bytes+info.Size(), files+1
				}
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}))
	}
	return bytes, files, err
}
