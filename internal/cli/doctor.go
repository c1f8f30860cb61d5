package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"drawsvc/internal/serve"
	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/checkup"
)

// errDanger means that the doctor found an endangered guarantee, and has printed it.
var errDanger = errors.New("the doctor found danger")

func doctorCommand(env setting.Environment) *cobra.Command {
	var config serve.Config
	var output output
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check database, lock service and settings, and say what endangers the guarantees, why, and what to do",
		Long: `Check what a service with these flags would run on: the settings of the
database, the schema, the lock service, the links to both, and the files of
secrets. The flags and variables are those of serve. Nothing is changed.`,
		Args: noArguments,
	}
	config.Flags(c, env)
	output.flag(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := config.Read(c); err != nil {
			return err
		}
		url, err := config.Database.Read(c)
		if err != nil {
			return err
		}
		return config.Database.Opened(c, stock.Options{ReadOnly: true, SealKeys: config.SealKeys()}, func(ctx context.Context, store *stock.Store) error {
			found, err := serve.CheckUp(ctx, store, &config, url)
			if err != nil {
				return err
			}
			if err := printFindings(env.Stdout, output, found); err != nil {
				return err
			}
			if dangers(found) > 0 {
				return errDanger
			}
			return nil
		})
	}
	return c
}

func dangers(found []checkup.Finding) (n int) {
	for _, f := range found {
		if f.Level == checkup.LevelDanger {
			n++
		}
	}
	return n
}

type findingJSON struct {
	Level  string `json:"level"`
	Rule   string `json:"rule"`
	Detail string `json:"detail"`
	Why    string `json:"why"`
	Remedy string `json:"remedy"`
}

func printFindings(w io.Writer, o output, found []checkup.Finding) error {
	if o == outputJSON {
		all := []findingJSON{}
		for _, f := range found {
			all = append(all, findingJSON{string(f.Level), f.Rule, f.Detail, f.Why, f.Remedy})
		}
		return json.NewEncoder(w).Encode(map[string]any{"ok": dangers(found) == 0, "findings": all})
	}
	for _, f := range found {
		fmt.Fprintf(w, "%s: %s: %s\n  why: %s\n  remedy: %s\n", f.Level, f.Rule, f.Detail, f.Why, f.Remedy)
	}
	_, err := fmt.Fprintln(w, summary(found))
	return err
}

// summary returns the last line of the doctor's output.
func summary(found []checkup.Finding) string {
	counts := map[checkup.Level]int{}
	for _, f := range found {
		counts[f.Level]++
	}
	parts := []string{"no danger found"}
	if n := counts[checkup.LevelDanger]; n > 0 {
		parts[0] = fmt.Sprintf("dangers: %d", n)
	}
	for _, l := range []checkup.Level{checkup.LevelWarning, checkup.LevelNote} {
		if counts[l] > 0 {
			parts = append(parts, fmt.Sprintf("%ss: %d", l, counts[l]))
		}
	}
	return strings.Join(parts, ", ")
}
