package checkup

import (
	"fmt"
	"io/fs"
	"os"
)

// Files checks the permissions of files that contain secrets or draws. loose are the
// permissions that others must not have. Missing files are skipped.
func Files(loose fs.FileMode, paths ...string) (found []Finding) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if path == "" || err != nil || info.Mode()&loose == 0 || !info.Mode().IsRegular() {
			continue
		}
		found = append(found, Finding{
			Level: LevelWarning, Rule: "file-mode", Detail: fmt.Sprintf("%s has the mode %04o", path, info.Mode().Perm()),
			Why:    "other accounts of this machine can read it, or change it",
			Remedy: "chmod 600 " + path + ", or 640 with a group of the service alone, and make the service's account its owner",
		})
	}
	return found
}
