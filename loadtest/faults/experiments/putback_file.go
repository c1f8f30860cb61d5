package experiments

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"drawsvc/loadtest/faults/history"
)

// goneFor is how long an instance lives on without the files that it opened.
const goneFor = 2 * time.Second

func fileReplaced() Experiment {
	return Experiment{Name: "data folder put back under living instances", places: at(1, "sqlite"), loses: true, run: filesPutBack}
}

// filesPutBack keeps a copy of an embedded database as a snapshot of the volume
// has it, lets the instance go on, and puts the copy in the place of the files.
// The instance must not acknowledge anything then, until it is started again.
func filesPutBack(t *trial) error {
	p := t.part()
	i, kept := t.Instances[0], filepath.Join(filepath.Dir(t.File), "kept")
	t.Must(os.Mkdir(kept, 0o700))
	i.Signal(syscall.SIGSTOP) // a snapshot has all files of one moment
	err := moveFiles(t.File, kept, copyFile)
	i.Signal(syscall.SIGCONT)
	t.Must(err)
	t.Must(p.lose())
	t.Must(moveFiles(filepath.Join(kept, filepath.Base(t.File)), filepath.Dir(t.File), os.Rename))
	from := t.History.Now()
	time.Sleep(goneFor)
	t.wantAway(from, t.History.Now())
	i.Kill()
	t.Must(t.reopen())
	t.Ended = time.Now()
	t.Must(i.Again(t.Ctx))
	t.Must(p.goOn())
	return errors.Join(p.judge(), t.integrity())
}

// moveFiles moves a database, or copies it, with what is beside it to a folder.
func moveFiles(database, folder string, move func(from, to string) error) error {
	for _, suffix := range []string{"-shm", "-wal", ""} { // the file itself comes last
		from := database + suffix
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := move(from, filepath.Join(folder, filepath.Base(from))); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}

// wantAway wants all that was asked and answered within a time to be answered that
// the database is away.
func (t *trial) wantAway(from, to time.Duration) {
	away := 0
	for _, o := range t.History.Ops() {
		if o.Call < from || o.Return > to {
			continue
		}
		away++
		if o.Status != http.StatusServiceUnavailable {
			t.Verdict.Say(history.Fault, "from a database that is away: %s", &o)
		}
	}
	if t.Note("%d requests to an instance whose files were replaced", away); away == 0 {
		t.Verdict.Say(history.Fault, "nobody asked the instance whose files were replaced")
	}
}

// reopen lets the harness read the file that is at the path now.
func (t *trial) reopen() error {
	err := t.Base.Admin.Close()
	if err != nil {
		return err
	}
	t.Base.Admin, err = t.OpenFile()
	return err
}
