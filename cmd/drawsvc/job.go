package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os/user"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
	"drawsvc/internal/job"
	"drawsvc/internal/stock"
)

func jobCommand(env environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "job",
		Short: "Show and change the jobs that run once in a fleet",
		Long: `Show and change the jobs that run once in a fleet, straight on the database.

A job is run by whichever instance of ` + "`drawsvc serve`" + ` takes it. While an SQLite
database is served, list, show and history work, and changes go over HTTP.`,
		Args: cobra.NoArgs,
		RunE: needsSubcommand,
	}
	on, off, nobody := true, false, ""
	c.AddCommand(
		jobListCommand(env), jobShowCommand(env), jobHistoryCommand(env), jobRunCommand(env),
		jobChangeCommand(env, "enable JOB", "Switch a job on", "is on", cobra.ExactArgs(1), func([]string) job.Change { return job.Change{Enabled: &on} }),
		jobChangeCommand(env, "disable JOB", "Switch a job off", "is off", cobra.ExactArgs(1), func([]string) job.Change { return job.Change{Enabled: &off} }),
		jobChangeCommand(env, "pin JOB HOST", "Have one host alone run a job", "is pinned", cobra.ExactArgs(2), func(args []string) job.Change { return job.Change{Host: &args[1]} }),
		jobChangeCommand(env, "unpin JOB", "Let every host run a job", "is not pinned", cobra.ExactArgs(1), func([]string) job.Change { return job.Change{Host: &nobody} }),
	)
	return c
}

// actor is who acts: --actor, or the user of the operating system.
type actor string

func (a *actor) flag(c *cobra.Command) {
	name := "cli"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name += ":" + u.Username
	}
	c.Flags().StringVar((*string)(a), "actor", name, "`name` of whoever acts, for the record")
}

// check refuses what cannot be recorded.
func (a actor) check() error {
	if err := draw.CheckActor(string(a)); err != nil {
		return usageError{fmt.Errorf("--actor: %w", err)}
	}
	return nil
}

func jobListCommand(env environment) *cobra.Command {
	var db database
	var out output
	c := &cobra.Command{Use: "list", Short: "List all jobs", Args: cobra.NoArgs}
	db.flag(c, env)
	out.flag(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		return db.with(c, stock.Options{ReadOnly: true}, func(ctx context.Context, store *stock.Store) error {
			rows, now, err := store.Jobs(ctx)
			if err != nil {
				return err
			}
			if out == outputJSON {
				all := make([]job.View, len(rows))
				for i := range rows {
					all[i] = rows[i].View(now)
				}
				return json.NewEncoder(env.stdout).Encode(map[string]any{"jobs": all})
			}
			w := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "job\ton\tschedule\tper\thost\tstatus\tdue\tlast success\tlast error")
			for i := range rows {
				r := &rows[i]
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, yesNo(r.Enabled), r.Schedule, r.Per, orDash(r.Host), r.Status,
					timeOrDash(r.DueAt), timeOrDash(r.LastSuccess), orDash(r.LastError))
			}
			return w.Flush()
		})
	}
	return c
}

func jobShowCommand(env environment) *cobra.Command {
	var db database
	var out output
	c := &cobra.Command{Use: "show JOB", Short: "Show a job and its last report", Args: cobra.ExactArgs(1)}
	db.flag(c, env)
	out.flag(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		return db.with(c, stock.Options{ReadOnly: true}, func(ctx context.Context, store *stock.Store) error {
			r, now, err := store.Job(ctx, args[0])
			if err != nil {
				return err
			}
			v := r.View(now)
			if out == outputJSON {
				return json.NewEncoder(env.stdout).Encode(v)
			}
			w := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
			for _, line := range [][2]string{
				{"job", r.Name}, {"on", yesNo(r.Enabled)}, {"schedule", r.Schedule}, {"per", string(r.Per)}, {"host", orDash(r.Host)},
				{"status", string(r.Status)}, {"holder", orDash(r.Holder)}, {"started", timeOrDash(r.StartedAt)},
				{"stale after", job.FormatDuration(r.StaleAfter)}, {"due", timeOrDash(r.DueAt)},
				{"overdue", (time.Duration(v.OverdueSeconds) * time.Second).String()}, {"last success", timeOrDash(r.LastSuccess)},
				{"last error", orDash(r.LastError)}, {"changed by", orDash(r.ChangedBy)}, {"report", orDash(string(r.Report))},
			} {
				fmt.Fprintf(w, "%s\t%s\n", line[0], line[1])
			}
			return w.Flush()
		})
	}
	return c
}

func jobHistoryCommand(env environment) *cobra.Command {
	var db database
	var out output
	c := &cobra.Command{Use: "history JOB", Short: "List the last runs of a job", Args: cobra.ExactArgs(1)}
	db.flag(c, env)
	out.flag(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		return db.with(c, stock.Options{ReadOnly: true}, func(ctx context.Context, store *stock.Store) error {
			runs, err := store.JobRuns(ctx, args[0], 0, job.RunsKept)
			if err != nil {
				return err
			}
			if out == outputJSON {
				all := make([]job.RunView, len(runs))
				for i := range runs {
					all[i] = runs[i].View()
				}
				return json.NewEncoder(env.stdout).Encode(map[string]any{"runs": all})
			}
			w := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "run\thost\tstarted\tfinished\tresult\terror")
			for i := range runs {
				r := &runs[i]
				fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", r.Token, r.Host, timeOrDash(r.Began), timeOrDash(r.Finished),
					orDash(string(r.Result)), orDash(r.Error))
			}
			return w.Flush()
		})
	}
	return c
}

func jobRunCommand(env environment) *cobra.Command {
	var db database
	var by actor
	c := &cobra.Command{Use: "run JOB", Short: "Have a job run once, whatever its schedule says", Args: cobra.ExactArgs(1)}
	db.flag(c, env)
	by.flag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return changing(c, &db, by, func(ctx context.Context, store *stock.Store) error {
			r, err := store.WantJob(ctx, args[0], string(by))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(env.stdout, "job %s is requested: an instance takes it within seconds\n", r.Name)
			return err
		})
	}
	return c
}

func jobChangeCommand(env environment, use, short, done string, args cobra.PositionalArgs, change func([]string) job.Change) *cobra.Command {
	var db database
	var by actor
	c := &cobra.Command{Use: use, Short: short, Args: args}
	db.flag(c, env)
	by.flag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		wanted := change(args)
		if err := wanted.Check(); err != nil {
			return usageError{err}
		}
		return changing(c, &db, by, func(ctx context.Context, store *stock.Store) error {
			r, err := store.ChangeJob(ctx, args[0], wanted, string(by))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(env.stdout, "job %s %s\n", r.Name, done)
			return err
		})
	}
	return c
}

// changing runs fn on a database that it may change, for an actor.
func changing(c *cobra.Command, db *database, by actor, fn func(context.Context, *stock.Store) error) error {
	if err := by.check(); err != nil {
		return err
	}
	return db.with(c, stock.Options{}, fn)
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

func orDash(text string) string { return cmp.Or(text, "-") }

func timeOrDash(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
