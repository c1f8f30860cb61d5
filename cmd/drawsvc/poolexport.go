package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"drawsvc/internal/http"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
)

func poolExportProofCommand(env environment) *cobra.Command {
	var identity identityFlag
	var on target
	var pool poolName
	c := &cobra.Command{
		Use:   "export-proof --pool ID DIR",
		Short: "Write the files by which outsiders verify a committed pool",
		Long: `Write the files by which outsiders verify a committed pool. Where the rows are not
those that were signed it writes none, and exits with 3. With --server the service
reads and signs the log, and needs no --seed-identity-file here.`,
	}
	on.flag(c, env)
	pool.declare(c, false)
	c.Args = arguments(1)
	identity.flag(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		return working(c, &on, stock.Options{}, func(ctx context.Context, from http.Exporter) error {
			if _, err := identity.unseal(from); err != nil {
				return err
			}
			return exportProof(ctx, from, string(pool), args[0])
		})
	}
	return c
}

// The modes of what is published: a web server of another account shows it. They are
// set, because the files that the process creates are its user's alone.
const (
	publicFile   = 0o644
	publicFolder = 0o755
)

// exportProof writes the files of a pool. They take their places by renames once all
// of them are whole.
func exportProof(ctx context.Context, from http.Exporter, pool, dir string) (err error) {
	folder := proofFolder{dir: dir, files: map[string]*os.File{}}
	defer func() { err = firstOf(err, folder.drop()) }()
	if err := from.ExportProof(ctx, pool, folder.create); err != nil {
		return err
	}
	return folder.keep()
}

// proofFolder is a folder of files that are being written.
type proofFolder struct {
	dir    string
	isMade bool                // by create
	files  map[string]*os.File // by their names, those that are not in their places
}

// create begins a file, and makes the folder where it is the first.
func (p *proofFolder) create(name string) (io.Writer, error) {
	if _, err := os.Stat(p.dir); err != nil {
		p.isMade = true
		if err := errors.Join(os.MkdirAll(p.dir, publicFolder), os.Chmod(p.dir, publicFolder)); err != nil { //nolint:gosec // it is for everybody
			return nil, err
		}
	}
	f, err := os.CreateTemp(p.dir, "."+name+"-*")
	if err != nil {
		return nil, err
	}
	p.files[name] = f
	return f, nil
}

// keep gives the files their places, the log first.
func (p *proofFolder) keep() error {
	for _, name := range http.ProofFiles() {
		f := p.files[name]
		if f == nil { // not revealed yet
			continue
		}
		if err := errors.Join(f.Chmod(publicFile), f.Close()); err != nil {
			return err
		}
		if err := os.Rename(f.Name(), filepath.Join(p.dir, name)); err != nil {
			return err
		}
		delete(p.files, name)
	}
	return nil
}

// drop removes what was not kept, and the folder where nothing was.
func (p *proofFolder) drop() (err error) {
	hasFailed := len(p.files) > 0
	for _, f := range p.files {
		_ = f.Close() // it may be closed already
		err = errors.Join(err, os.Remove(f.Name()))
	}
	if hasFailed && p.isMade {
		_ = os.Remove(p.dir) // it has files where some were kept
	}
	return err
}

// ExportProof implements http.Exporter.
func (d onDatabase) ExportProof(ctx context.Context, poolID string, create func(name string) (io.Writer, error)) error {
	files, err := d.Store.ExportProof(ctx, poolID, &lateWriter{create: func() (io.Writer, error) { return create(http.ProofFiles()[0]) }})
	if err != nil {
		return err
	}
	content := map[string][]byte{
		"commitment": files.Commitment, "key": files.Key, "checkpoints": files.Checkpoints, "checkpoint": files.Checkpoint, "reveal": files.Reveal,
		http.ZonesFile: proof.Zones(),
	}
	for _, name := range http.ProofFiles() {
		if len(content[name]) == 0 { // the log, and what is not revealed yet
			continue
		}
		w, err := create(name)
		if err != nil {
			return err
		}
		if _, err := w.Write(content[name]); err != nil {
			return err
		}
	}
	return nil
}

// lateWriter makes its writer when there is something to write.
type lateWriter struct {
	create func() (io.Writer, error)
	to     io.Writer
}

// Write implements io.Writer.
func (l *lateWriter) Write(p []byte) (n int, err error) {
	if l.to == nil {
		if l.to, err = l.create(); err != nil {
			return 0, err
		}
	}
	return l.to.Write(p)
}
