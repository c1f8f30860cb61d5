package experiments

import (
	"fmt"
	"time"

	"drawsvc/internal/fault"
	"drawsvc/loadtest/faults/history"
)

// campaignFaults are those of pools with rules and an agenda.
func campaignFaults() []Experiment {
	return []Experiment{campaignUndisturbed(), campaignKilled(), thousandsDue(), campaignClock(), clocksApart(), campaignDay()}
}

// campaignPoints are all at which an instance is killed.
func campaignPoints() []fault.Point {
	return []fault.Point{fault.BeforeWrite, fault.BeforeCommit, fault.AfterCommit, fault.DueBeforeCommit, fault.DueAfterCommit}
}

// campaignKilled kills instances at every fault point, while the agenda of a
// campaign is at work.
func campaignKilled() Experiment {
	return Experiment{
		Name: "campaign, service killed at every point", places: everywhere(3), points: true, own: true,
		run: underCampaign(func(c *campaign) error {
			for _, p := range campaignPoints() {
				if err := c.killedAt(p); err != nil {
					return fmt.Errorf("%s: %w", p, err)
				}
			}
			return c.awaitDone()
		}),
	}
}

// killedAt kills one instance at a point, behind which everybody asks for the
// same draws.
func (c *campaign) killedAt(p fault.Point) error {
	from := c.History.Now()
	i := c.Any()
	i.Expect()
	for tries := 1; ; tries++ {
		last, err := c.burst(c.now().Add(campaignLead), 70*time.Millisecond)
		if err != nil {
			return err
		}
		if err := c.await(last.Add(-700 * time.Millisecond)); err != nil {
			return err
		}
		if err := i.Arm(p, "kill"); err != nil {
			return err
		}
		if err = i.AwaitTaken(); err == nil {
			break
		}
		if tries == 4 {
			return err // the others were always first
		}
	}
	if err := i.Process.AwaitEnd(); err == nil {
		return fmt.Errorf("instance %d ended in good order though it was killed", i.Number)
	}
	c.Sleep(100, 400)
	if err := i.Again(c.Ctx); err != nil {
		return err
	}
	c.askAgain(from)
	return nil
}

// await waits for a time of the database.
func (c *campaign) await(at time.Time) error {
	select {
	case <-time.After(at.Sub(c.now())):
	case <-c.Ctx.Done():
	}
	return c.Ctx.Err()
}

// askAgain sends a draw that won nothing, and one that is in doubt, a hundred
// times at once to all instances: the judgement wants one answer.
func (c *campaign) askAgain(from time.Duration) {
	var lost, doubt *history.Op
	for _, o := range c.History.Ops() {
		switch {
		case o.Pool != c.pool || o.Call < from:
		case o.Won() && len(o.Awards) == 1 && o.Awards[0].Prize == "none":
			lost = &o
		case o.Unknown():
			doubt = &o
		}
	}
	for _, o := range []*history.Op{lost, doubt} {
		if o == nil {
			continue
		}
		same := make([]history.Op, 100)
		for n := range same {
			same[n] = history.Op{Kind: o.Kind, Pool: o.Pool, Key: o.Key, User: o.User, Count: o.Count, Client: 3000 + n, Instance: n % len(c.Instances)}
		}
		c.atOnce(same)
	}
}

// campaignUndisturbed is a campaign without any fault: what is broken shows by
// itself.
func campaignUndisturbed() Experiment {
	return Experiment{Name: "campaign", places: at(3, "postgres"), own: true, run: underCampaign((*campaign).undisturbed)}
}

// ofCampaigns are the controls of campaigns.
func ofCampaigns() []Cell {
	return []Cell{
		{
			Experiment: campaignUndisturbed(), place: place{"postgres", "optimistic", "", 3}, Program: history.CountsBefore,
			Condemned: []string{history.LimitPassed},
		},
		{
			Experiment: campaignUndisturbed(), place: place{"postgres", "optimistic", "", 3}, Program: history.LateTicker,
			Condemned: []string{history.DuePassed},
		},
		{
			Experiment: clocksApart(), place: place{"postgres", "optimistic", "", 3}, Program: history.OwnClocks,
			Condemned: []string{history.Fault},
		},
	}
}

func (c *campaign) undisturbed() error {
	for range 3 {
		last, err := c.burst(c.now().Add(campaignLead), 70*time.Millisecond)
		if err != nil {
			return err
		}
		if err := c.await(last); err != nil {
			return err
		}
	}
	return c.awaitDone()
}
