package servertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// copyFirst fills the server's folder with a copy of what setUp created for the first
// server of the kind in this test process. Copying takes a tenth of the time of setUp.
// setUp must create the same for every server, whatever its options are.
func (s *Server) copyFirst(ctx context.Context, kind string, setUp func(context.Context, *Server) error) error {
	first, err := Once("a folder of "+kind, func() (string, error) {
		dir, err := os.MkdirTemp(filepath.Dir(s.dir), "first-"+kind+"-")
		if err != nil {
			return "", err
		}
		if err := giveAway(dir); err != nil {
			return "", err
		}
		// Other callers wait for the result too, so one caller's context must not end it.
		ctx, cancel := context.WithTimeout(context.Background(), readyMax)
		defer cancel()
		first := &Server{name: s.name, kind: s.kind, programs: s.programs, dir: dir}
		if err := setUp(ctx, first); err != nil {
			return "", fmt.Errorf("%w\n%s", err, first.tail())
		}
		return dir, os.Remove(first.path("log")) // each server has a log of its own
	})
	if err != nil {
		return err
	}
	return s.run(ctx, "cp", "-a", first+"/.", s.dir)
}
