package checkup

import (
	"fmt"
	"io/fs"
	"os"
)

// looseMode are the permissions of a secret file that others must not have:
// to read it or to write it.
const looseMode fs.FileMode = 0o066

// Files judges the permissions of files that hold secrets or draws. Those that
// are not there are not judged.
func Files(paths ...string) (found []Finding) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if path == "" || err != nil || info.Mode()&looseMode == 0 || !info.Mode().IsRegular() {
			continue
		}
		found = append(found, Finding{
			Level: LevelWarning, Rule: "file-mode", Detail: fmt.Sprintf("%s has the mode %04o", path, info.Mode().Perm()),
			Why:    "other accounts of this machine can read it, or change it",
			Remedy: "chmod 600 " + path + ", and make the service's account its owner",
		})
	}
	return found
}
