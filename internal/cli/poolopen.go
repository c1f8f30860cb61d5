package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/setting"
)

// opener opens a pool, in two steps where it is committed to a beacon.
type opener struct {
	*poolChange
	identity  setting.IdentityFlag
	unseals   bool
	roundFile string
	fetch     bool
	beaconURL string
	// wait is how long after a round's time it is asked for.
	wait time.Duration
}

// roundWaitMax is how long after its time a round is waited for: a beacon's relays
// lag behind by seconds.
const roundWaitMax = 2 * time.Minute

func poolOpenCommand(env setting.Environment) *cobra.Command {
	c := newPoolChange(env, "open ID", "Let a pool be drawn from")
	c.wanted.SetState(draw.StateOpen)
	o := opener{poolChange: c, wait: roundWaitMax}
	c.Long = `Let a pool be drawn from.

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

// check judges the flags.
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
	if o.unseals { // a seed that cannot be unsealed shows before draws are refused
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

// badRound makes of a round that is not good a failure, and no wrong usage.
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

// fetchRound waits for a round and asks the beacon for it, until it is there.
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

// askMax bounds one question to a beacon.
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
