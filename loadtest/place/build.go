package place

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"drawsvc/loadtest/harness"
)

// Bin is where everything is built to, from the root of the repository.
const Bin = "loadtest/bin"

// Program is what Build builds: packages of the module in a folder.
type Program struct {
	// Folder is that of the go.mod, "" for the service's own.
	Folder string
	// Name is that of the file; "" is that of the package.
	Name            string
	Flags, Packages []string
}

// Service is the released program.
func Service() Program { return Program{Packages: []string{"./cmd/drawsvc"}} }

// Textbook are programs of the textbook.
func Textbook(packages ...string) Program {
	return Program{Folder: "loadtest/textbook", Packages: packages}
}

// Build builds programs to a folder. The working directory has to be the root of
// the repository.
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
