package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/setting"
)

func poolCommand(env setting.Environment) *cobra.Command {
	c := newGroup("pool", "Create, list and change pools",
		poolCreateCommand(env), poolCopyCommand(env), poolListCommand(env), poolShowCommand(env), poolOpenCommand(env), poolPauseCommand(env), poolCloseCommand(env),
		poolRenameCommand(env), poolCurrencyCommand(env), poolTextCommand(env), poolFairCommand(env), poolArchiveCommand(env), poolDeleteCommand(env),
		poolCommitCommand(env), poolRevealCommand(env), poolSkipCommand(env), poolExportProofCommand(env), poolEraseSaltsCommand(env),
	)
	c.Long = `Create, list and change pools, on the database or, with --server, over HTTP.

What is changed here counts from the next draw on, also for instances that run
on the same server database. An SQLite database belongs to one process: while
` + "`drawsvc serve`" + ` has it, list and show work, and changes need --server.`
	return c
}

// poolChange is a command that changes one pool, at any revision or only at a given one.
type poolChange struct {
	*command
	revision int64
	wanted   api.PoolChange
}

func newPoolChange(env setting.Environment, use, short string) *poolChange {
	c := &poolChange{command: newCommand(env, use, short, acting, namingPool)}
	c.Flags().Int64Var(&c.revision, revisionName, 0, "change nothing unless the pool is at this `REVISION`, which pool show says")
	return c
}

const revisionName = "if-revision"

// revisions returns the revisions that the pool may have; nil allows every revision.
func (c *poolChange) revisions() []int64 {
	if !c.Flags().Changed(revisionName) {
		return nil
	}
	return []int64{c.revision}
}

// patch changes the pool. The next change uses the revision that this change returned.
func (c *poolChange) patch(ctx context.Context, on *api.Client) (api.Pool, error) {
	changed, err := on.ChangePool(ctx, string(c.pool), c.revisions(), &c.wanted)
	if err == nil {
		c.revision = changed.Revision
	}
	return changed, err
}

// says sets the action of the command, which returns the text to print. The first printed
// line begins with the pool.
func (c *poolChange) says(check func() error, do func(ctx context.Context, on *api.Client) (string, error)) *cobra.Command {
	return c.does(func([]string) error {
		if check == nil {
			return nil
		}
		return check()
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		done, err := do(ctx, on)
		if err != nil {
			return err
		}
		done, more, hasMore := strings.Cut(done, "\n") // after a reveal, more is the seed
		_, err = setting.Printf(c.env.Stdout, "pool %s %s\n", c.pool, done)
		if err == nil && hasMore {
			_, err = setting.Printf(c.env.Stdout, "%s\n", more)
		}
		return err
	})
}

// patches is like says, for a command that only changes the pool.
func (c *poolChange) patches(check func() error, done func(*api.Pool) string) *cobra.Command {
	return c.says(check, func(ctx context.Context, on *api.Client) (string, error) {
		changed, err := c.patch(ctx, on)
		return done(&changed), err
	})
}

func poolPauseCommand(env setting.Environment) *cobra.Command {
	c := newPoolChange(env, "pause ID", "Refuse new draws on a pool for a while; known draws are answered")
	c.wanted.SetState(draw.StatePaused)
	var pause draw.Pause
	f := c.Flags()
	f.DurationVar(&pause.RetryAfter, "retry-after", 0, "answer draws 503 paused, which callers retry, for about this `DURATION`; else they are refused for good")
	f.StringVar(&pause.Notice, "notice", "", "`TEXT` that players are shown with each refusal, at most 200 characters")
	f.StringVar(&pause.Reason, "reason", "", "`TEXT` for the history of the pool, which players do not see")
	return c.patches(func() error {
		if slices.ContainsFunc([]string{"retry-after", "notice", "reason"}, f.Changed) {
			c.wanted.SetPause(&pause)
		}
		return nil
	}, func(p *api.Pool) string { return "is " + string(p.State) })
}

func poolRenameCommand(env setting.Environment) *cobra.Command {
	c := newPoolChange(env, "rename ID --name NAME", "Give a pool another name")
	var name string
	c.Flags().StringVar(&name, "name", "", "new name of the pool")
	return c.patches(func() error { c.wanted.Name = api.RawText(&name); return nil },
		func(p *api.Pool) string { return fmt.Sprintf("has the name %q", p.Name) })
}

func poolCurrencyCommand(env setting.Environment) *cobra.Command {
	c := newPoolChange(env, "currency ID --code CODE", "Say which currency the values of a pool have; it is only shown")
	var code string
	c.Flags().StringVar(&code, "code", "", "`CODE` of ISO 4217, such as EUR; empty for none")
	return c.patches(func() error { c.wanted.Currency = api.RawText(&code); return nil },
		func(p *api.Pool) string { return fmt.Sprintf("has the currency %q", p.Currency) })
}

func poolTextCommand(env setting.Environment) *cobra.Command {
	c := newPoolChange(env, "text ID --text TEXT", "Say something of a pool to players; it is only shown")
	var text string
	c.Flags().StringVar(&text, "text", "", "`TEXT` of at most 2000 characters; empty for none")
	return c.patches(func() error { c.wanted.Text = api.RawText(&text); return nil },
		func(p *api.Pool) string { return fmt.Sprintf("has the text %q", p.Text) })
}

func poolFairCommand(env setting.Environment) *cobra.Command {
	c := newPoolChange(env, "fair ID [--off]", "Turn the public page of fairness of a pool on: prizes, rules in words, dates, commitment")
	off := c.Flags().Bool("off", false, "turn it off")
	return c.patches(func() error { c.wanted.Fair = new(!*off); return nil }, func(p *api.Pool) string {
		if !p.Fair {
			return "has no page of fairness"
		}
		return "has a page of fairness at /fair/" + p.ID
	})
}

func poolArchiveCommand(env setting.Environment) *cobra.Command {
	c := newPoolChange(env, "archive ID", "Hide a closed pool from lists; it can still be shown and audited")
	c.wanted.Archived = new(true)
	return c.patches(nil, func(*api.Pool) string { return "is archived" })
}

func poolDeleteCommand(env setting.Environment) *cobra.Command {
	c := newPoolChange(env, "delete ID", "Remove a pool that has never issued a unit, with its history")
	return c.says(nil, func(ctx context.Context, on *api.Client) (string, error) {
		return "is deleted", on.DeletePool(ctx, string(c.pool), c.revisions())
	})
}

func poolCloseCommand(env setting.Environment) *cobra.Command {
	c := newPoolChange(env, "close ID", "Refuse new draws on a pool permanently; known draws are answered")
	c.wanted.SetState(draw.StateClosed)
	var identity setting.IdentityFlag
	var reveal bool
	identity.Flag(c.Flags())
	c.Flags().BoolVar(&reveal, "reveal", false, "reveal the seed of a committed pool at once, and print it")
	return c.says(func() error {
		unseals, err := c.on.takeIdentities(&identity)
		if err != nil {
			return err
		}
		remote, err := c.on.isRemote(c.Flags())
		if err == nil && reveal && !remote && !unseals {
			err = setting.AsUsage(errors.New("--reveal needs --seed-identity-file"))
		}
		c.on.local.SignsClosed = unseals && !reveal
		return err
	}, func(ctx context.Context, on *api.Client) (string, error) {
		if reveal { // so that a pool that cannot be revealed is not closed
			if err := on.CheckSeeds(ctx, string(c.pool)); err != nil {
				return "", err
			}
		}
		if _, err := c.patch(ctx, on); err != nil || !reveal {
			return "is closed", err
		}
		line, err := on.Reveal(ctx, string(c.pool))
		return "is closed\n" + strings.TrimSuffix(string(line), "\n"), err
	})
}

func poolSkipCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "skip ID --to VERSION", "Skip versions of a paused, committed pool without an award", acting, namingPool)
	c.Long = `Skip versions of a paused, committed pool without an award.

Use it before a pool is opened again after a restore or a failover that lost
versions: those who saw the lost draws know what the numbers of their versions
give. VERSION is the highest version that was ever answered, or more. Every
skipped version stands in the history and in the public log, and verifiers count
them. At most 1,000,000 are skipped at once.`
	c.Example = "  drawsvc pool skip spring --to 4711 --reason 'restored from the backup of 02:00'"
	var to int64
	var reason string
	c.Flags().Int64Var(&to, "to", 0, "the last `VERSION` to skip")
	c.Flags().StringVar(&reason, "reason", "", "`TEXT` for the history")
	return c.does(func([]string) error {
		if to == 0 {
			return setting.AsUsage(errors.New("--to is missing: the last version to skip"))
		}
		return nil
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		skipped, err := on.SkipVersions(ctx, string(c.pool), to, reason)
		if err != nil {
			return err
		}
		_, err = setting.Printf(env.Stdout, "pool %s: %s skipped\n", c.pool, counted(skipped, "version"))
		return err
	})
}

// opener opens a pool: in two steps if the pool is committed to a beacon.
type opener struct {
	*poolChange
	identity  setting.IdentityFlag
	unseals   bool
	roundFile string
	fetch     bool
	beaconURL string
	// wait is the maximum time after a round's own time for which the command requests
	// the round.
	wait time.Duration
}

// roundWaitMax is the usual value of opener.wait. The relays of a beacon publish a round
// some seconds late.
const roundWaitMax = 2 * time.Minute

func poolOpenCommand(env setting.Environment) *cobra.Command {
	c := newPoolChange(env, "open ID", "Open a pool for draws")
	c.wanted.SetState(draw.StateOpen)
	o := opener{poolChange: c, wait: roundWaitMax}
	c.Long = `Open a pool for draws.

A pool that is committed to a beacon is opened in two steps. The first announces a
round that is not there yet, prints when it comes, and leaves the pool paused. The
second opens the pool with that round: --round-file has the beacon's answer, and
--fetch asks for it. With --fetch one command does both.`
	f := c.Flags()
	o.identity.Flag(f)
	f.StringVar(&o.roundFile, "round-file", "", "`FILE` of the announced round, - for the standard input: {\"round\",\"signature\"}")
	f.BoolVar(&o.fetch, "fetch", false, "announce a round where none is, wait for it, and open the pool with it")
	f.StringVar(&o.beaconURL, "beacon-url", proof.QuicknetURL, "`URL` of the beacon that --fetch asks for /public/ROUND")
	return c.says(o.check, o.open)
}

// check validates the flags.
func (o *opener) check() (err error) {
	if o.roundFile != "" && o.fetch {
		return setting.AsUsage(errors.New("give --round-file or --fetch, not both"))
	}
	if u, err := url.Parse(o.beaconURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return setting.AsUsage(errors.New("--beacon-url must be such as " + proof.QuicknetURL))
	}
	o.unseals, err = o.on.takeIdentities(&o.identity)
	return err
}

// patch opens the pool, with a round unless it is nil.
func (o *opener) patch(ctx context.Context, on *api.Client, round *draw.Round) (api.Pool, error) {
	if round != nil {
		o.wanted.Round, o.wanted.Signature = &round.Number, &round.Signature
	}
	p, err := o.poolChange.patch(ctx, on)
	return p, badRound(round, err)
}

func (o *opener) open(ctx context.Context, on *api.Client) (string, error) {
	if o.unseals { // so that a seed that cannot be unsealed is noticed before draws are refused
		if err := on.CheckSeeds(ctx, string(o.pool)); err != nil && draw.CodeOf(err) != draw.CodeNotFound {
			return "", err
		}
	}
	var round *draw.Round
	if o.roundFile != "" {
		var err error
		if round, err = o.readRound(); err != nil {
			return "", err
		}
	}
	p, err := o.patch(ctx, on, round)
	switch {
	case err != nil || p.State == draw.StateOpen:
		return "is open", err
	case p.Opening == nil:
		return "", errors.New("the pool is not open, and no round is announced")
	case !o.fetch:
		return fmt.Sprintf("is announced to open, and stays paused\nround %d at %s", p.Opening.Round, toSeconds(p.Opening.At)), nil
	}
	at, err := p.Opening.Time()
	if err != nil {
		return "", err
	}
	if round, err = o.fetchRound(ctx, p.Opening.Round, at); err != nil {
		return "", err
	}
	_, err = o.patch(ctx, on, round)
	return fmt.Sprintf("is open with round %d", p.Opening.Round), err
}

// badRound makes the error of an invalid round a failure, and not wrong usage.
func badRound(round *draw.Round, err error) error {
	if round != nil && draw.CodeOf(err) == draw.CodeInvalidRequest {
		return errors.New(draw.DetailOf(err))
	}
	return err
}

func (o *opener) readRound() (*draw.Round, error) {
	file, done, err := openImport(o.roundFile, o.env)
	if err != nil {
		return nil, err
	}
	defer done()
	return readRound(file)
}

func readRound(from io.Reader) (*draw.Round, error) {
	text, err := io.ReadAll(io.LimitReader(from, proof.RoundFileMax))
	if err != nil {
		return nil, err
	}
	round, err := proof.ParseRound(text)
	return &round, badRound(&round, err)
}

// fetchRound waits for a round and requests it from the beacon until it is available.
func (o *opener) fetchRound(ctx context.Context, number int64, at time.Time) (*draw.Round, error) {
	if _, err := fmt.Fprintf(o.env.Stderr, "waiting for round %d at %s\n", number, at.UTC().Format(time.RFC3339)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithDeadline(ctx, latest(at, time.Now()).Add(o.wait))
	defer cancel()
	asked := errors.New("it was not asked")
	for pause := time.Until(at); ; pause = time.Second {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("round %d did not come from %s: %w; once it is there, run the command again, or give it with --round-file",
				number, o.beaconURL, asked)
		case <-time.After(max(0, pause)):
		}
		round, err := o.askRound(ctx, number)
		if err == nil {
			return round, nil
		}
		asked = err
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// askMax is the timeout of one request to a beacon.
const askMax = 10 * time.Second

func (o *opener) askRound(ctx context.Context, number int64) (*draw.Round, error) {
	ctx, cancel := context.WithTimeout(ctx, askMax)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/public/%d", strings.TrimSuffix(o.beaconURL, "/"), number), http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the beacon answers %s", answer.Status)
	}
	return readRound(answer.Body)
}
