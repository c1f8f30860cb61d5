package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/job"
	"drawsvc/internal/setting"
)

func jobCommand(env setting.Environment) *cobra.Command {
	on, off := true, false
	c := newGroup("job", "Show and change the jobs that run once in a fleet",
		jobListCommand(env), jobShowCommand(env), jobHistoryCommand(env), jobRunCommand(env),
		jobChangeCommand(env, "enable JOB", "Switch a job on", "is on", jobArguments(1), func([]string) api.JobChange { return api.JobChange{Enabled: &on} }),
		jobChangeCommand(env, "disable JOB", "Switch a job off", "is off", jobArguments(1), func([]string) api.JobChange { return api.JobChange{Enabled: &off} }),
		jobChangeCommand(env, "pin JOB HOST", "Run a job only on one host", "is pinned", jobAndHost, func(args []string) api.JobChange { return pinned(args[1]) }),
		jobChangeCommand(env, "unpin JOB", "Run a job on any host", "is not pinned", jobArguments(1), func([]string) api.JobChange { return pinned("") }),
	)
	c.Long = `Show and change the jobs that run once in a fleet, on the database or, with --server, over HTTP.

A job is run by whichever instance of ` + "`drawsvc serve`" + ` takes it. While an SQLite
database is served, list, show and history work, and changes need --server.`
	return c
}

// pinned returns the change that pins a job to a host; "" means every host.
func pinned(host string) (c api.JobChange) {
	c.Pin(host)
	return c
}

// jobArguments accepts n arguments, the first of them a job.
func jobArguments(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := arguments(n)(c, args); err != nil {
			return err
		}
		return draw.CheckID("the job's name", args[0])
	}
}

// jobAndHost accepts two arguments. An empty host would allow every host to run the
// job.
func jobAndHost(c *cobra.Command, args []string) error {
	if err := jobArguments(2)(c, args); err != nil {
		return err
	}
	if args[1] == "" {
		return errors.New("the host is empty; job unpin lets every host run a job")
	}
	return nil
}

func jobListCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "list", "List all jobs", printing)
	return c.does(nil, func(ctx context.Context, on *api.Client, _ []string) error {
		views, err := on.Jobs(ctx)
		if err != nil {
			return err
		}
		if c.output == outputJSON {
			return json.NewEncoder(env.Stdout).Encode(map[string]any{"jobs": views})
		}
		w := newTable(env.Stdout)
		fmt.Fprintln(w, "job\ton\tschedule\tper\thost\tstatus\tdue\tlast success\tlast error")
		for i := range views {
			v := &views[i]
			_, _ = setting.Printf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", v.Name, yesNo(v.Enabled), v.Schedule, v.Per, orDash(v.Host), v.Status,
				timeOrDash(&v.DueAt), timeOrDash(v.LastSuccess), orDash(v.LastError))
		}
		return w.Flush()
	})
}

func jobShowCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "show JOB", "Show a job and its last report", printing)
	c.Args = jobArguments(1)
	return c.does(nil, func(ctx context.Context, on *api.Client, args []string) error {
		v, err := on.Job(ctx, args[0])
		if err != nil {
			return err
		}
		if c.output == outputJSON {
			return json.NewEncoder(env.Stdout).Encode(v)
		}
		w := newTable(env.Stdout)
		for _, line := range [][2]string{
			{"job", v.Name}, {"on", yesNo(v.Enabled)}, {"schedule", v.Schedule}, {"per", string(v.Per)}, {"host", orDash(v.Host)},
			{"status", string(v.Status)}, {"holder", orDash(v.Holder)}, {"started", timeOrDash(v.StartedAt)},
			{"stale after", v.StaleAfter}, {"due", timeOrDash(&v.DueAt)},
			{"overdue", (time.Duration(v.OverdueSeconds) * time.Second).String()}, {"last success", timeOrDash(v.LastSuccess)},
			{"last error", orDash(v.LastError)}, {"changed by", orDash(v.ChangedBy)}, {"report", orDash(report(v.Report))},
		} {
			_, _ = setting.Printf(w, "%s\t%s\n", line[0], line[1])
		}
		return w.Flush()
	})
}

func jobHistoryCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "history JOB", "List the last runs of a job", printing)
	c.Args = jobArguments(1)
	return c.does(nil, func(ctx context.Context, on *api.Client, args []string) error {
		runs, err := on.JobRuns(ctx, args[0], job.RunsKept)
		if err != nil {
			return err
		}
		if c.output == outputJSON {
			return json.NewEncoder(env.Stdout).Encode(map[string]any{"runs": runs, "next": nil})
		}
		w := newTable(env.Stdout)
		fmt.Fprintln(w, "run\thost\tstarted\tfinished\tresult\terror")
		for i := range runs {
			r := &runs[i]
			_, _ = setting.Printf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", r.ID, r.Host, timeOrDash(&r.StartedAt), timeOrDash(r.FinishedAt),
				orDash(r.Result), orDash(r.Error))
		}
		return w.Flush()
	})
}

func jobRunCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "run JOB", "Run a job now", acting)
	c.Args = jobArguments(1)
	return c.does(nil, func(ctx context.Context, on *api.Client, args []string) error {
		if err := on.RunJob(ctx, args[0]); err != nil {
			return err
		}
		_, err := setting.Printf(env.Stdout, "job %s is requested: an instance takes it within seconds\n", args[0])
		return err
	})
}

func jobChangeCommand(env setting.Environment, use, short, done string, args cobra.PositionalArgs, change func([]string) api.JobChange) *cobra.Command {
	c := newCommand(env, use, short, acting)
	c.Args = args
	var wanted api.JobChange
	return c.does(func(args []string) error {
		wanted = change(args)
		if _, err := wanted.Read(); err != nil {
			return setting.AsUsage(err)
		}
		return nil
	}, func(ctx context.Context, on *api.Client, args []string) error {
		if err := on.ChangeJob(ctx, args[0], &wanted); err != nil {
			return err
		}
		_, err := setting.Printf(env.Stdout, "job %s %s\n", args[0], done)
		return err
	})
}

// report returns the text of a job's report, nil for none.
func report(r json.RawMessage) *string {
	text := string(r)
	return &text
}
