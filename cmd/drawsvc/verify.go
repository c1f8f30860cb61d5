package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"drawsvc/internal/proof"
)

// errUnproven: a verification found something. What it found is the last line of
// all, so there is no message of its own.
var errUnproven = errors.New("")

func verifyCommand(env environment) *cobra.Command {
	var o proof.VerifyOptions
	var output output
	var kept, witnesses []string
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
	f.StringVar(&o.Key, "key", "", "verifier `KEY` of the pool (default that of the folder)")
	f.Lookup("key").Annotations = map[string][]string{noVariable: {"true"}}
	f.StringArrayVar(&kept, "kept", nil, "`file` of a checkpoint, or a commitment, that was kept; once for each")
	f.StringArrayVar(&witnesses, "witness", nil, "verifier `KEY` of a witness that must have cosigned every checkpoint; once for each")
	f.Lookup("witness").Annotations = map[string][]string{noVariable: {"true"}}
	f.BoolVar(&o.Live, "live", false, "take a pool that is not closed, and awards whose seed is not revealed yet")
	output.flag(f)
	c.RunE = func(_ *cobra.Command, args []string) error {
		if o.Key != "" {
			if _, err := proof.Verifier(o.Key); err != nil {
				return usageError{fmt.Errorf("--key: %s", message(err))}
			}
		}
		for _, key := range witnesses {
			w, err := proof.ParseWitness(key)
			if err != nil {
				return usageError{fmt.Errorf("--witness: %s", message(err))}
			}
			o.Witnesses = append(o.Witnesses, w)
		}
		for _, path := range kept {
			note, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			o.Kept = append(o.Kept, note)
		}
		if info, err := os.Stat(args[0]); err != nil || !info.IsDir() {
			return fmt.Errorf("%s is no folder", args[0])
		}
		r, err := proof.Verify(os.DirFS(args[0]), o)
		if err != nil {
			return err
		}
		if err := printReport(env.stdout, output, &r); err != nil {
			return err
		}
		if !r.OK {
			return errUnproven
		}
		return nil
	}
	return c
}

func printReport(w io.Writer, o output, r *proof.Report) (err error) {
	switch {
	case o == outputJSON:
		return json.NewEncoder(w).Encode(r)
	case r.OK:
		_, err = fmt.Fprintf(w, "%d entries hold: %d awards replayed from version %d on, %d openings\n", r.Entries, r.Replayed, r.From, r.Openings)
	default:
		_, err = fmt.Fprintf(w, "entry %d: %s: %s\n", r.Entry, r.Rule, r.Detail)
	}
	return err
}
