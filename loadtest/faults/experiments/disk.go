package experiments

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// diskFaults are those of the file that holds the database.
func diskFaults() []Experiment {
	return []Experiment{
		diskFull(),
		{Name: "killed ten times", Number: 20, places: at(1, "sqlite"), run: killedTenTimes},
		{Name: "file opened by a second process", Number: 20, places: at(1, "sqlite"), soaks: true, run: openedTwice},
	}
}

// room is how much of the small disk is free when the load begins.
const room = 24 << 20

// onSmallDisk makes the cell's database on a file system in memory that has
// little room. Only root may mount one.
func onSmallDisk(g *stage.Ground, s *harness.Site, kind string) *stage.Base {
	if os.Geteuid() != 0 {
		s.Skip("only root can mount a small file system")
	}
	if kind == "sqlite" {
		b := g.Database(s, kind, nil)
		mount(s, filepath.Dir(b.File), room)
		return b
	}
	server := servertest.Start(s, kind, servertest.Args(stage.ServerArgs(kind)...))
	server.Stop()
	data, aside := filepath.Join(server.Dir(), "data"), filepath.Join(server.Dir(), "aside")
	s.Must(os.Rename(data, aside))
	s.Must(os.Mkdir(data, 0o700))
	mount(s, data, sizeOf(aside)+room)
	s.Cleanup(server.Stop) // before the disk goes
	if output, err := exec.Command("cp", "-a", aside+"/.", data).CombinedOutput(); err != nil {
		s.Fatalf("copy the data: %v\n%s", err, output)
	}
	s.Must(server.Start())
	return g.Database(s, kind, server)
}

// mount mounts an empty file system on a folder, until the site ends.
func mount(s *harness.Site, folder string, size int64) {
	disk, err := servertest.MountSmallDisk(folder, size)
	if err != nil {
		s.Skip(err.Error())
	}
	s.Cleanup(func() { _ = disk.Unmount() })
}

// sizeOf is what the files of a folder take.
func sizeOf(folder string) (size int64) {
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it was removed meanwhile
		}
		if info, err := entry.Info(); err == nil {
			size += (info.Size() + 8191) &^ 4095
		}
		return nil
	})
	return size
}

func killedTenTimes(t *trial) error {
	for range 10 {
		i := t.Instances[0]
		i.Kill()
		t.Ended = time.Now()
		t.Must(i.Again(t.Ctx))
		t.Sleep(50, 300)
	}
	return t.integrity()
}

// integrity asks SQLite itself.
func (t *trial) integrity() error {
	var said string
	t.Must(t.Base.Admin.QueryRowContext(t.Ctx, `PRAGMA integrity_check`).Scan(&said))
	if said != "ok" {
		t.Verdict.Say(history.Fault, "integrity_check says %s", said)
	}
	return nil
}

// openedTwice starts a second program on the file: it must be refused, with a
// line that says why.
func openedTwice(t *trial) error {
	ctx, cancel := context.WithTimeout(t.Ctx, harness.StartMax)
	defer cancel()
	for _, args := range [][]string{
		{"serve", "--listen", "127.0.0.1:0", "--database", t.URL},
		{"stock", "add", "--database", t.URL, "--pool", t.Pool(client.MainPool), "--prize", "tin", "--delta", "5", "--reason", "second"},
	} {
		output, err := stage.Command(ctx, stage.Released, args...)
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 || !strings.Contains(output, "in use by another process") {
			t.Verdict.Say(history.Fault, "a second process on the file: %v: %s", err, output)
		}
	}
	return nil
}
