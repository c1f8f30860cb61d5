package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/setting"
)

func receiptCommand(env setting.Environment) *cobra.Command {
	return newGroup("receipt", "Work on receipts of verifiable draws", receiptVerifyCommand(env))
}

// receiptChecks are what a receipt is checked for.
type receiptChecks struct{ key, drawID, user, checkpoint string }

func receiptVerifyCommand(env setting.Environment) *cobra.Command {
	var o receiptChecks
	c := &cobra.Command{
		Use:   "verify FILE --key VKEY",
		Short: "Check a receipt: the pool has signed that its log has these lines",
		Long: `Check a receipt: the pool has signed that its log has these lines. FILE holds
the receipt, the whole answer of POST /draw, or that of GET …/receipt, whose
proof is checked too. It needs no database and no service.

The key is that of GET …/proof/key, best got before the draw. With --draw and
--user the receipt must be of these.`,
		Args: arguments(1),
	}
	f := c.Flags()
	f.StringVar(&o.key, "key", "", "verifier `KEY` of the pool")
	f.StringVar(&o.drawID, "draw", "", "`NAME` of the draw, its Idempotency-Key")
	f.StringVar(&o.user, "user", "", "`USER` of the draw")
	f.StringVar(&o.checkpoint, "checkpoint", "", "`file` of a checkpoint of the proof's size that was kept")
	setting.SetAnnotation(f.Lookup("key"), setting.NoVariable)
	c.RunE = func(_ *cobra.Command, args []string) error {
		if o.key == "" {
			return setting.AsUsage(errors.New("--key is missing"))
		}
		key, err := verifierFlag(o.key)
		if err != nil {
			return err
		}
		shown, err := readOwnFile(args[0])
		if err != nil {
			return err
		}
		var kept []byte
		if o.checkpoint != "" {
			if kept, err = readOwnFile(o.checkpoint); err != nil {
				return err
			}
		}
		promised, size, err := o.check(shown, kept, key)
		if err != nil {
			_, err = setting.Printf(env.Stdout, "receipt: %s\n", draw.DetailOf(err))
			return setting.FirstOf(err, errUnproven)
		}
		return printReceipt(env.Stdout, promised, size)
	}
	return c
}

// check checks a receipt, and its proof where there is one: it returns the size of
// the log that has it, 0 without a proof.
func (o *receiptChecks) check(shown, kept []byte, key note.Verifier) (promised *proof.Promised, size int64, err error) {
	p, err := proof.ParsePresented(shown)
	if err != nil {
		return nil, 0, err
	}
	if promised, err = p.Open(key); err != nil {
		return nil, 0, err
	}
	if err := promised.Opens(o.drawID, o.user); err != nil {
		return nil, 0, err
	}
	if p.Proof == nil {
		if kept != nil {
			err = draw.Errorf(draw.CodeInvalidRequest, "there is no proof of inclusion")
		}
		return promised, 0, err
	}
	c, err := promised.Includes(p.Proof, key)
	if err == nil && kept != nil {
		p.Proof.Checkpoint = string(kept)
		c, err = promised.Includes(p.Proof, key)
	}
	if err != nil {
		return nil, 0, err
	}
	return promised, c.Size, nil
}

func printReceipt(w io.Writer, p *proof.Promised, size int64) error {
	for _, l := range p.Lines {
		if _, err := setting.Printf(w, "entry %d: unit %d of %s, at %s\n", l.Version, l.Unit, l.PrizeID, l.At.Format(draw.TimeFormat)); err != nil {
			return err
		}
	}
	end := "the receipt holds\n"
	if size > 0 {
		end = fmt.Sprintf("the receipt holds; the log of %s has it\n", counted(size, "entry"))
	}
	_, err := io.WriteString(w, end)
	return err
}
