package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/mod/sumdb/note"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/setting"
)

// errUnproven means that a verification failed. It has no message, because the last line
// of the output states the finding.
var errUnproven = errors.New("")

// verifyGarbage is how much garbage a verification may have, in percent of its live
// memory.
const verifyGarbage = 25

func verifyCommand(env setting.Environment) *cobra.Command {
	var files verifyFiles
	var output output
	var live bool
	c := &cobra.Command{
		Use:   "verify DIR",
		Short: "Check the published files of a committed pool: every award follows from its seed",
		Long: `Check the published files of a committed pool: its log is the one that was
signed, and every award behind the commitment follows from the committed seed,
the stock, and the rules of its version. It needs no database and no service.

The last line names the first entry that does not hold: entry N: RULE: text.
What the files alone cannot prove is in docs/verifiable-draws.md; a checkpoint
that was kept, or got from somebody else, proves more.`,
		Args: arguments(1),
	}
	f := c.Flags()
	files.flags(f)
	f.BoolVar(&live, "live", false, "take a pool that is not closed, and awards whose seed is not revealed yet")
	output.flag(f)
	c.RunE = func(_ *cobra.Command, args []string) error {
		o, err := files.read()
		if err != nil {
			return err
		}
		o.Live = live
		folder, err := openFolder(args[0])
		if err != nil {
			return err
		}
		defer folder.Close()
		// The data that is kept for a long log contains no pointers. So frequent garbage
		// collection is cheap, and it saves as much memory as that data takes.
		defer debug.SetGCPercent(debug.SetGCPercent(verifyGarbage))
		r, err := proof.Verify(folder.FS(), o)
		if err != nil {
			return err
		}
		if err := printReport(env.Stdout, output, &r); err != nil {
			return err
		}
		if !r.OK {
			return errUnproven
		}
		return nil
	}
	return c
}

// verifyFiles are the keys and files that a verification uses besides the folder.
type verifyFiles struct {
	key, receipts   string
	kept, witnesses []string
}

func (v *verifyFiles) flags(f *pflag.FlagSet) {
	f.StringVar(&v.key, "key", "", "verifier `KEY` of the pool (default that of the folder)")
	f.StringArrayVar(&v.kept, "kept", nil, "`file` that was kept: a checkpoint, a copy of checkpoints, or a commitment; once for each")
	f.StringArrayVar(&v.witnesses, "witness", nil, "verifier `KEY` of a witness that must have cosigned every checkpoint; once for each")
	f.StringVar(&v.receipts, "receipts", "", "`file` of receipts, or of answers that hold one, one a line: the log must have their lines")
	for _, name := range []string{"key", "witness", "receipts"} {
		setting.SetAnnotation(f.Lookup(name), setting.NoVariable)
	}
}

func (v *verifyFiles) read() (o proof.VerifyOptions, err error) {
	if o.Key = v.key; o.Key != "" {
		if _, err := verifierFlag(o.Key); err != nil {
			return o, err
		}
	}
	for _, key := range v.witnesses {
		w, err := proof.ParseWitness(key)
		if err != nil {
			return o, setting.AsUsage(fmt.Errorf("--witness: %s", setting.Message(err)))
		}
		o.Witnesses = append(o.Witnesses, w)
	}
	for _, path := range v.kept {
		content, err := readOwnFile(path)
		if err != nil {
			return o, err
		}
		o.Kept = append(o.Kept, content)
	}
	if v.receipts != "" {
		file, err := readOwnFile(v.receipts)
		if err != nil {
			return o, err
		}
		o.Receipts = proof.SplitReceipts(file)
	}
	return o, nil
}

// verifierFlag reads the value of --key.
func verifierFlag(key string) (note.Verifier, error) {
	v, err := proof.Verifier(key)
	if err != nil {
		return nil, setting.AsUsage(fmt.Errorf("--key: %s", setting.Message(err)))
	}
	return v, nil
}

// weaker states which permissions of a commitment weaken the proof.
func weaker(r *proof.Report) string {
	if !r.StockWhileOpen {
		return ""
	}
	return "weaker: the commitment lets stock move while the pool is open\n"
}

// passed states the number of announced rounds that no opening used. An operator who knew
// the seed could use or avoid each of them.
func passed(r *proof.Report) string {
	if r.Passed == 0 {
		return ""
	}
	return fmt.Sprintf(", %s passed over", counted(r.Passed, "announced round"))
}

// skipped states how many versions give nothing: an operator who knows the seed could
// skip unwanted numbers.
func skipped(r *proof.Report) string {
	if r.Skipped == 0 {
		return ""
	}
	return fmt.Sprintf(", %s skipped", counted(r.Skipped, "version"))
}

// zonesOf names the release of the time zones that this verification used, and the
// folder's release if it differs.
func zonesOf(r *proof.Report) string {
	if r.FolderZones == "" || r.FolderZones == r.Zones {
		return "time zones: " + r.Zones
	}
	return "time zones: " + r.Zones + "; the folder names " + r.FolderZones
}

func printReport(w io.Writer, o output, r *proof.Report) (err error) {
	if o == outputJSON {
		return json.NewEncoder(w).Encode(r)
	}
	if _, err := fmt.Fprintln(w, zonesOf(r)); err != nil {
		return err
	}
	switch {
	case r.OK:
		_, err = setting.Printf(w, "%s%s %s: %s replayed from version %d on, %s%s%s\n", weaker(r), counted(r.Entries, "entry"), do(r.Entries, "holds", "hold"),
			counted(r.Recomputed, "award"), r.From, counted(r.Openings, "opening"), passed(r), skipped(r))
	default:
		_, err = setting.Printf(w, "entry %d: %s: %s\n", r.Entry, r.Rule, r.Detail)
	}
	return err
}

func receiptCommand(env setting.Environment) *cobra.Command {
	return newGroup("receipt", "Work on receipts of verifiable draws", receiptVerifyCommand(env))
}

// receiptChecks are the values that a receipt is checked against.
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

// check checks a receipt, and its proof if there is one. size is the size of the log in
// which the proof shows the draw, 0 without a proof.
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
