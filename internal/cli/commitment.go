package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/proof"
	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
)

// committing is the command line of pool commit.
type committing struct {
	*command
	to     setting.RecipientsFlag
	escrow string
	epochs int64
	length int64
	wanted api.NewCommitment
}

func poolCommitCommand(env setting.Environment) *cobra.Command {
	w := committing{command: newCommand(env, "commit ID --origin HOST --seed-recipients FILE",
		"Commit a paused pool to its numbers, permanently, and print the signed note", acting, namingPool)}
	w.Long = `Commit a paused pool to its numbers, permanently, and print the signed note.

From then on every award follows from a seed that was fixed before. The seed is
sealed to the recipients; whoever draws needs --seed-identity-file. Publish the
note before the pool opens. docs/verifiable-draws.md says what that proves.

With --server the service seals to its own recipients, and has an origin of its
own where it was started with one.`
	f := w.Flags()
	f.StringVar(&w.wanted.Origin, "origin", "", "`HOST` that the pool's log is published under; the log is named HOST/POOL")
	w.to.Flag(f)
	f.StringVar(&w.wanted.Beacon, "beacon", "none", "public randomness that is mixed in at every opening: none, quicknet, or\n"+
		"'bls-unchained-g1-rfc9380 KEY GENESIS PERIOD' of another drand chain")
	f.BoolVar(&w.wanted.StockWhileOpen, "stock-while-open", false, "let stock move while a pool with a beacon is open, which weakens what is proven")
	f.BoolVar(&w.wanted.Receipts, "receipts", false, "answer every draw with a receipt, also where none is asked for")
	f.Int64Var(&w.epochs, "epochs", proof.EpochsDefault, "number of seeds in the chain")
	f.Int64Var(&w.length, "epoch-length", proof.EpochLengthDefault, "versions of the pool that use one seed")
	f.StringVar(&w.escrow, "escrow", "", "age `RECIPIENT` who can unseal the seed besides, such as an auditor")
	w.wanted.Epochs, w.wanted.EpochLength = &w.epochs, &w.length
	return w.does(w.check, func(ctx context.Context, on *api.Client, _ []string) error {
		note, err := on.CommitPool(ctx, string(w.pool), &w.wanted)
		if err != nil {
			return err
		}
		_, err = env.Stdout.Write(note)
		return err
	})
}

// check validates the flags, and reads the recipients to whom secrets in the database are
// sealed.
func (w *committing) check([]string) error {
	if _, err := proof.ParseBeacon(w.wanted.Beacon); err != nil {
		return setting.AsUsage(fmt.Errorf("--beacon: %s", setting.Message(err)))
	}
	remote, err := w.on.isRemote(w.Flags())
	switch {
	case err != nil:
		return err
	case remote && setting.SourceOf(w.Flags(), setting.RecipientsName, "escrow") == setting.ByLine:
		return setting.AsUsage(errors.New("--seed-recipients and --escrow are for the database: a service seals to its own recipients"))
	case remote && w.wanted.Origin == "":
		return nil
	case !remote:
		if w.on.local.Sealing.To, w.on.local.Sealing.Escrow, err = sealTo(&w.to, w.escrow); err != nil {
			return err
		}
	}
	if err := setting.CheckOrigin(w.wanted.Origin); err != nil {
		return setting.AsUsage(err)
	}
	return nil
}

// sealTo reads the recipients to whom the secrets of a commitment are sealed; besides are
// the recipients of the escrow.
func sealTo(to *setting.RecipientsFlag, escrow string) (recipients, besides *proof.Recipients, err error) {
	if recipients, err = to.Read(); err != nil {
		return nil, nil, err
	}
	if recipients == nil {
		return nil, nil, setting.AsUsage(errors.New("--seed-recipients is missing: seeds are stored only sealed"))
	}
	if escrow != "" {
		if besides, err = proof.ParseRecipients(escrow); err != nil {
			return nil, nil, setting.AsUsage(fmt.Errorf("--escrow: %s", setting.Message(err)))
		}
	}
	return recipients, besides, nil
}

func poolRevealCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "reveal ID --seed-identity-file FILE", "Reveal the seed of a closed pool permanently, and print it", writing, namingPool)
	c.Long = `Reveal the seed of a closed pool permanently, and print it. With --server the service
unseals it, and needs no --seed-identity-file here.`
	var identity setting.IdentityFlag
	identity.Flag(c.Flags())
	return c.does(func([]string) error {
		_, err := c.on.takeIdentities(&identity)
		return err
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		line, err := on.Reveal(ctx, string(c.pool))
		if err != nil {
			return err
		}
		_, err = env.Stdout.Write(line)
		return err
	})
}

func poolExportProofCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "export-proof --pool ID DIR", "Write the files by which outsiders verify a committed pool", writing, ofPool)
	c.Long = `Write the files by which outsiders verify a committed pool. Where the rows are not
those that were signed it writes none, and exits with 3. With --server the service
reads and signs the log, and needs no --seed-identity-file here.`
	c.Args = arguments(1)
	var identity setting.IdentityFlag
	identity.Flag(c.Flags())
	return c.does(func([]string) error {
		_, err := c.on.takeIdentities(&identity)
		return err
	}, func(ctx context.Context, on *api.Client, args []string) error {
		return exportProof(ctx, on, string(c.pool), args[0])
	})
}

// The modes of published files and folders: a web server under another account serves
// them. The modes are set explicitly, because the process's umask makes new files
// private.
const (
	publicFile   = 0o644
	publicFolder = 0o755
)

// exportProof writes the files of a pool. They are renamed to their final names after
// all of them are complete.
func exportProof(ctx context.Context, from *api.Client, pool, dir string) (err error) {
	folder := proofFolder{dir: dir, files: map[string]*os.File{}}
	defer func() { err = setting.FirstOf(err, folder.drop()) }()
	if err := from.ExportProof(ctx, pool, folder.create); err != nil {
		return err
	}
	return folder.keep()
}

// proofFolder is a folder of files that are being written.
type proofFolder struct {
	dir    string
	isMade bool                // whether create has made the folder
	files  map[string]*os.File // the files that are not renamed yet, by name
}

// create begins a file, and creates the folder for the first one.
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

// keep renames the files to their final names, the log first.
func (p *proofFolder) keep() error {
	for _, name := range api.ProofFiles() {
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

// drop removes the files that were not kept, and the folder if it is empty.
func (p *proofFolder) drop() (err error) {
	hasFailed := len(p.files) > 0
	for _, f := range p.files {
		_ = f.Close() // it may already be closed
		err = errors.Join(err, os.Remove(f.Name()))
	}
	if hasFailed && p.isMade {
		_ = os.Remove(p.dir) // fails if some files were kept
	}
	return err
}

func poolEraseSaltsCommand(env setting.Environment) *cobra.Command {
	var identity setting.IdentityFlag
	var db setting.Database
	var by actor
	var pool poolName
	var dir string
	c := &cobra.Command{
		Use:   "erase-salts ID --proof DIR --seed-identity-file FILE",
		Short: "Destroy the secret of a revealed pool's tags permanently: nobody can tell who they stand for",
		Long: `Destroy the secret of a revealed pool's tags permanently: nobody can tell any more
which tag of the public log stands for whom. Neither the log nor a receipt can be
written again, so DIR must hold all of it: the folder of pool export-proof, or that
of the pool within the publisher's. The rows of the pool still name who drew;
drawsvc user forget replaces users there.`,
	}
	db.Flag(c, env)
	by.flag(c)
	pool.declare(c, true)
	identity.Flag(c.Flags())
	c.Flags().StringVar(&dir, "proof", "", "`DIR` that holds the pool's whole log and its reveal")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if dir == "" {
			return setting.AsUsage(errors.New("--proof is missing: what is not published by then never is"))
		}
		if err := by.check(); err != nil {
			return err
		}
		identities, err := identity.Read()
		if err != nil {
			return err
		}
		return db.With(c, stock.Options{Identities: identities}, func(ctx context.Context, store *stock.Store) error {
			folder, err := openFolder(dir)
			if err != nil {
				return err
			}
			defer folder.Close()
			return store.EraseSalts(ctx, string(pool), folder.FS(), string(by))
		})
	}
	return c
}
