package place

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"drawsvc/loadtest/harness"
)

// Bin is the folder of all builds, from the root of the repository.
const Bin = "loadtest/bin"

// Program is what Build builds: packages of the module in a folder.
type Program struct {
	// Folder is the folder of the go.mod, "" for the service's own.
	Folder string
	// Name is the file's name; "" is the package's name.
	Name            string
	Flags, Packages []string
}

// Service returns the released program.
func Service() Program { return Program{Packages: []string{"./cmd/drawsvc"}} }

// K6 returns k6, in the version that the scripts' go.mod pins.
func K6() Program {
	return Program{Folder: "loadtest/k6", Name: "k6", Packages: []string{"go.k6.io/k6/v2"}}
}

// Textbook returns programs of the textbook.
func Textbook(packages ...string) Program {
	return Program{Folder: "loadtest/textbook", Packages: packages}
}

// Build builds programs into a folder. The working directory must be the root of the
// repository.
func Build(ctx context.Context, folder string, programs ...Program) error {
	if _, err := os.Stat("loadtest/place"); err != nil {
		return errors.New("run it at the root of the repository")
	}
	to, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, p := range programs {
		args := slices.Concat([]string{"build", "-trimpath", "-o", to + "/" + p.Name}, p.Flags, p.Packages)
		if err := harness.Go(ctx, p.Folder, args...); err != nil {
			return err
		}
	}
	return nil
}
