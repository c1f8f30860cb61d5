package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
	"drawsvc/loadtest/report"
)

// results is the folder of the published run, page is where its summary is shown.
const (
	results = "loadtest/rehearse/results"
	page    = "docs/rehearsal.md"
)

// settings are the command line.
type settings struct {
	do, results         string
	here                bool
	base, admin         string
	adminFile, drawFile string
	failover, rollout   string
	// options are the options of evening.js, as NAME=VALUE.
	options []string
}

func main() { harness.Main("rehearse", parse, run) }

func parse(args []string) (s settings, err error) {
	s.do, args = harness.Command(args, "doc")
	flags := flag.NewFlagSet("rehearse", flag.ContinueOnError)
	flags.BoolVar(&s.here, "here", false, "start a deployment on this machine, at a tenth of the load")
	flags.StringVar(&s.base, "base-url", "", "public URL of the deployment")
	flags.StringVar(&s.admin, "admin-url", "", "URLs for operators, separated by commas (default: that of --base-url)")
	flags.StringVar(&s.adminFile, "admin-token-file", "", "file of a token with the role admin")
	flags.StringVar(&s.drawFile, "draw-token-file", "", "file of a token with the role draw")
	flags.StringVar(&s.failover, "failover", "", "shell command that makes the database fail over, and ends when it has")
	flags.StringVar(&s.rollout, "rollout", "", "shell command that replaces all instances, and ends when it has")
	flags.StringVar(&s.results, "results", "", "folder for the report (default rehearsal; with --here "+results+")")
	flags.Func("option", "NAME=VALUE for loadtest/k6/evening.js; may be repeated", func(option string) error {
		s.options = append(s.options, option)
		return nil
	})
	err = harness.Parse(flags, args)
	if err == nil && s.do == "" && s.here == (s.base != "") {
		err = errors.New("give either --here or --base-url")
	}
	if s.results == "" {
		s.results = map[bool]string{true: results, false: "rehearsal"}[s.here || s.do == "doc"]
	}
	return s, err
}

// tenth returns the options of a run on this machine: a tenth of the default rates.
func tenth() []string {
	return []string{"RATE=100", "PEAK_RATE=500", "VUS_MAX=400", "USERS=10000", "RAMP_SECONDS=30", "FAILOVER_SECONDS=40", "ROLLOUT_SECONDS=40"}
}

func run(ctx context.Context, s settings, out io.Writer) error {
	if s.do == "doc" {
		p, err := report.Read[published](filepath.Join(s.results, "rehearsal.json"))
		if err != nil {
			return err
		}
		return errors.Join(
			os.WriteFile(filepath.Join(s.results, "rehearsal.md"), []byte(p.markdown()), 0o644),
			report.Fill(page, report.Section{Name: "rehearsal", Text: p.body()}))
	}
	harness.Say(out, "building k6 and the service (the first time takes minutes)\n")
	if err := errors.Join(place.Build(ctx, place.Bin, place.K6()), place.Build(ctx, stage.Bin, place.Service())); err != nil {
		return err
	}
	begin := time.Now()
	p := published{Options: s.options}
	err := harness.On("rehearsal", func(site *harness.Site) error {
		d := staging(site, s)
		if s.here {
			d = here(ctx, site) //nolint:contextcheck // servers for tests bound their own waits
			p.Options = slices.Concat(tenth(), s.options)
		}
		p.Deployment = d.name
		return p.play(ctx, site, d, out)
	})
	if err != nil {
		return err
	}
	verdict := report.Verdict("checks", p.Checks)
	p.Stand = report.NewStand(false, time.Since(begin), verdict)
	harness.Say(out, "%s\n", p.body())
	return errors.Join(report.Write(s.results, "rehearsal", p, p.markdown()), verdict)
}

// play plays the evening, and judges it.
func (p *published) play(ctx context.Context, s *harness.Site, d *deployment, out io.Writer) error {
	h := serveHooks(s, d, out)
	folder := s.TempDir()
	summary, samples := filepath.Join(folder, "summary.json"), filepath.Join(folder, "samples.csv")
	options := append([]string{
		"BASE_URL=" + d.base, "ADMIN_URL=" + strings.Join(d.admins, ","), "SUMMARY=" + summary, "HOOKS=" + h.url,
		"ADMIN_TOKEN=" + d.adminToken, "DRAW_TOKEN=" + d.drawToken,
	}, p.Options...)
	harness.Say(out, "the evening begins\n")
	exit, output, err := place.RunScript(ctx, "evening", options, "--out", "csv="+samples)
	if err != nil {
		return err
	}
	k6, err := report.Read[k6Summary](summary)
	if err != nil {
		return fmt.Errorf("k6 ended with code %d and no result:\n%s", exit, output)
	}
	p.Pool = k6.Pool
	seen, err := readSamples(samples, p.Pool)
	if err != nil {
		return err
	}
	p.Steps = seen.steps()
	harness.Say(out, "the evening has ended; reading its log\n")
	e, err := d.gather(ctx, s, p.Pool)
	if err != nil {
		return err
	}
	e.ops, e.k6 = seen.ops, k6.Failed
	p.Checks = append(h.checks(p.Steps), e.checks()...)
	if d.end != nil {
		p.Checks = append(p.Checks, newCheck("every instance ends normally", "", d.end()))
	}
	return nil
}

// k6Summary is the report of the script.
type k6Summary struct {
	Pool   string   `json:"pool"`
	Failed []string `json:"failed"`
}
