package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"drawsvc/internal/http"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
)

// committing is the command line of pool commit.
type committing struct {
	on             target
	by             actor
	pool           poolName
	to             recipientsFlag
	beacon, escrow string
	wanted         stock.Committing
}

func poolCommitCommand(env environment) *cobra.Command {
	var w committing
	c := &cobra.Command{
		Use:   "commit ID --origin HOST --seed-recipients FILE",
		Short: "Commit a paused pool to its numbers, once and for ever, and print the signed note",
		Long: `Commit a paused pool to its numbers, once and for ever, and print the signed note.

From then on every award follows from a seed that was fixed before. The seed is
sealed to the recipients; whoever draws needs --seed-identity-file. Publish the
note before the pool opens. docs/verifiable-draws.md says what that proves.

With --server the service seals to its own recipients, and has an origin of its
own where it was started with one.`,
	}
	w.flags(c, env)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := w.read(c.Flags()); err != nil {
			return err
		}
		return changeOn(c, &w.on, w.by, func(ctx context.Context, on any) error {
			note, err := w.commit(ctx, on)
			if err != nil {
				return err
			}
			_, err = env.stdout.Write(note)
			return err
		})
	}
	return c
}

func (w *committing) flags(c *cobra.Command, env environment) {
	w.on.flag(c, env)
	w.by.flag(c)
	w.pool.declare(c, true)
	f := c.Flags()
	f.StringVar(&w.wanted.Host, "origin", "", "`HOST` that the pool's log is published under; the log is named HOST/POOL")
	w.to.flag(f)
	f.StringVar(&w.beacon, "beacon", "none", "public randomness that is mixed in at every opening: none, quicknet, or\n"+
		"'bls-unchained-g1-rfc9380 KEY GENESIS PERIOD' of another drand chain")
	f.BoolVar(&w.wanted.StockWhileOpen, "stock-while-open", false, "let stock move while a pool with a beacon is open, which weakens what is proven")
	f.BoolVar(&w.wanted.Receipts, "receipts", false, "answer every draw with a receipt, also where none is asked for")
	f.Int64Var(&w.wanted.Epochs, "epochs", proof.EpochsDefault, "number of seeds in the chain")
	f.Int64Var(&w.wanted.EpochLength, "epoch-length", proof.EpochLengthDefault, "versions of the pool that use one seed")
	f.StringVar(&w.escrow, "escrow", "", "age `RECIPIENT` who can unseal the seed besides, such as an auditor")
}

// read checks the flags, before anything is opened.
func (w *committing) read(flags *pflag.FlagSet) (err error) {
	w.wanted.PoolID = string(w.pool)
	if w.wanted.Beacon, err = proof.ParseBeacon(w.beacon); err != nil {
		return usageError{fmt.Errorf("--beacon: %s", message(err))}
	}
	remote, err := w.on.isRemote(flags)
	switch {
	case err != nil:
		return err
	case remote && sourceOf(flags, recipientsName, "escrow") == byLine:
		return usageError{errors.New("--seed-recipients and --escrow are for the database: a service seals to its own recipients")}
	case remote && w.wanted.Host == "":
		return nil
	case !remote:
		if w.wanted.Recipients, w.wanted.Escrow, err = sealTo(&w.to, w.escrow); err != nil {
			return err
		}
	}
	if err := checkOrigin(w.wanted.Host); err != nil {
		return usageError{err}
	}
	return nil
}

// checkOrigin checks the value of --origin.
func checkOrigin(host string) error {
	if err := proof.CheckHost(host); err != nil {
		return fmt.Errorf("--origin: %s", message(err))
	}
	return nil
}

// commit commits the pool, on what changeOn has found.
func (w *committing) commit(ctx context.Context, on any) ([]byte, error) {
	switch on := on.(type) {
	case onDatabase:
		w.wanted.Actor = string(w.by)
		return on.CommitPool(ctx, w.wanted)
	case *http.Admin:
		return on.CommitPool(ctx, http.Commit{
			PoolID: w.wanted.PoolID, Origin: w.wanted.Host, Epochs: w.wanted.Epochs, EpochLength: w.wanted.EpochLength,
			Beacon: w.beacon, StockWhileOpen: w.wanted.StockWhileOpen, Receipts: w.wanted.Receipts,
		})
	}
	return nil, fmt.Errorf("%T cannot commit a pool", on)
}

// sealTo reads whom the secrets of a commitment are sealed to.
func sealTo(to *recipientsFlag, escrow string) (recipients, besides *proof.Recipients, err error) {
	if recipients, err = to.read(); err != nil {
		return nil, nil, err
	}
	if recipients == nil {
		return nil, nil, usageError{errors.New("--seed-recipients is missing: seeds are kept sealed alone")}
	}
	if escrow != "" {
		if besides, err = proof.ParseRecipients(escrow); err != nil {
			return nil, nil, usageError{fmt.Errorf("--escrow: %s", message(err))}
		}
	}
	return recipients, besides, nil
}
