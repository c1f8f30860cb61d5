package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"drawsvc/internal/locker"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/checkup"
)

// errDanger: the doctor found that a guarantee is endangered, and has said so.
var errDanger = errors.New("the doctor found danger")

func doctorCommand(env environment) *cobra.Command {
	var db database
	var output output
	var lock lockFlags
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Read the database's settings and say what endangers the guarantees, why, and what to do",
		Args:  cobra.NoArgs,
	}
	db.flag(c, env)
	lock.flags(c.Flags())
	output.flag(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := lock.read(c.Flags()); err != nil {
			return err
		}
		if err := lock.Validate(); err != nil {
			return usageError{err}
		}
		return db.opened(c, stock.Options{ReadOnly: true}, func(ctx context.Context, store *stock.Store) error {
			found, err := checkUp(ctx, store, &lock)
			if err != nil {
				return err
			}
			if err := printFindings(env.stdout, output, found); err != nil {
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

// checkUpMax bounds a check-up; most of it is reading a large SQLite file.
const checkUpMax = 10 * time.Minute

// checkUp refuses the locks that `serve` refuses, and asks the database.
func checkUp(ctx context.Context, store *stock.Store, lock *lockFlags) ([]checkup.Finding, error) {
	ctx, cancel := context.WithTimeout(ctx, checkUpMax)
	defer cancel()
	open, err := locker.Open(ctx, lock.url, locker.Options{TTL: lock.ttl, Wait: lock.wait, Database: store})
	if err != nil {
		return nil, err
	}
	if err := open.Close(); err != nil {
		return nil, err
	}
	return checkup.Run(ctx, store, checkup.Options{Lock: lockScheme(lock.url), LockTTL: lock.ttl, LockWait: lock.wait})
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

// summary is the last line.
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
