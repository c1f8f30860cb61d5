package main

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

	"drawsvc/internal/draw"
	admin "drawsvc/internal/http"
	"drawsvc/internal/proof"
)

// opener opens a pool, in two steps where it is committed to a beacon.
type opener struct {
	identity  identityFlag
	roundFile string
	fetch     bool
	beaconURL string
	env       environment
	// wait is how long after a round's time it is asked for.
	wait time.Duration
}

// roundWaitMax is how long after its time a round is waited for: a beacon's relays
// lag behind by seconds.
const roundWaitMax = 2 * time.Minute

func poolOpenCommand(env environment) *cobra.Command {
	open := draw.StateOpen
	o := opener{env: env, wait: roundWaitMax}
	c := poolPatchBy(env, "open ID", "Let a pool be drawn from", &draw.PoolChange{State: &open}, o.open)
	c.Long = `Let a pool be drawn from.

A pool that is committed to a beacon is opened in two steps. The first announces a
round that is not there yet, prints when it comes, and leaves the pool paused. The
second opens the pool with that round: --round-file has the beacon's answer, and
--fetch asks for it. With --fetch one command does both.`
	f := c.Flags()
	o.identity.flag(f)
	f.StringVar(&o.roundFile, "round-file", "", "`FILE` of the announced round, - for the standard input: {\"round\",\"signature\"}")
	f.BoolVar(&o.fetch, "fetch", false, "announce a round where none is, wait for it, and open the pool with it")
	f.StringVar(&o.beaconURL, "beacon-url", proof.QuicknetURL, "`URL` of the beacon that --fetch asks for /public/ROUND")
	return c
}

func (o *opener) open(ctx context.Context, on admin.Pools, id string, patch func(*draw.Round) (draw.Pool, error)) (string, error) {
	if o.roundFile != "" && o.fetch {
		return "", usageError{errors.New("give --round-file or --fetch, not both")}
	}
	if u, err := url.Parse(o.beaconURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", usageError{errors.New("--beacon-url must be such as " + proof.QuicknetURL)}
	}
	unsealed, err := o.identity.unseal(on)
	if err != nil {
		return "", err
	}
	if db, _ := on.(onDatabase); unsealed { // a seed that cannot be unsealed shows before draws are refused
		if err := db.CheckSeeds(ctx, id); err != nil && draw.CodeOf(err) != draw.CodeNotFound {
			return "", err
		}
	}
	var round *draw.Round
	if o.roundFile != "" {
		if round, err = o.readRound(); err != nil {
			return "", err
		}
	}
	p, err := patch(round)
	if err != nil || p.State == draw.StateOpen {
		return "is open", badRound(round, err)
	}
	if !o.fetch {
		return fmt.Sprintf("is announced to open, and stays paused\nround %d at %s", p.Round, p.RoundAt.UTC().Format(time.RFC3339)), nil
	}
	if round, err = o.fetchRound(ctx, p.Round, p.RoundAt); err != nil {
		return "", err
	}
	_, err = patch(round)
	return fmt.Sprintf("is open with round %d", p.Round), badRound(round, err)
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
	if _, err := fmt.Fprintf(o.env.stderr, "waiting for round %d at %s\n", number, at.UTC().Format(time.RFC3339)); err != nil {
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
