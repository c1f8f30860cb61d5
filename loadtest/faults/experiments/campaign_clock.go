package experiments

import (
	"fmt"
	"time"

	"drawsvc/internal/draw/rules"
	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
)

// campaignClock moves the clock of the database while a campaign runs: over
// midnight of the zone of its rules, ahead by hours with items between, and back
// by hours. Beside a server the instances have clocks of their own, 90 s wrong.
func campaignClock() Experiment {
	return Experiment{
		Name: "campaign, database's clock over midnight, ahead and back by hours", Number: 15, clock: stage.ClockOfDatabase, points: true, own: true, flags: followsLeaps(),
		run: underCampaign((*campaign).moveClock),
		places: []place{
			{"sqlite", lockmode.ForUpdate, "", 1}, {"sqlite", lockmode.Optimistic, "", 1},
			{"postgres", lockmode.ForUpdate, "", 3}, {"postgres", lockmode.Optimistic, "", 3},
			{"mysql", lockmode.ForUpdate, "", 3}, {"mysql", lockmode.Optimistic, "", 3},
		},
	}
}

// followsLeaps are the flags of a service that follows every leap of the clock at once.
func followsLeaps() []string { return []string{"--clock-leap", "0"} }

// clocksApart is a campaign whose instances have clocks of their own: one is 90 s
// behind the database's, one 90 s ahead.
func clocksApart() Experiment {
	return Experiment{
		Name: "campaign, clocks of the instances 90 s apart from the database's", Number: 15, clock: stage.ClockOfDatabase, points: true, own: true,
		run: underCampaign((*campaign).keepTime), places: at(3, "postgres", "mysql"),
	}
}

// clockNear is how far a time may be from that of the database: a request may wait
// for its turn, and an estimate is one.
const clockNear = 2 * time.Second

// keepTime wants awards at the times at which they were asked for, by the clock of
// the database, which is not moved.
func (c *campaign) keepTime() error {
	c.shows = nil // nothing is planned
	c.Wait(3 * time.Second)
	far := 0
	for _, o := range c.History.Ops() {
		if o.Pool != c.pool || !o.Won() || o.Replayed {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, o.Awards[0].At)
		if err != nil {
			return err
		}
		from, to := c.History.Time(o.Call).Add(-clockNear), c.History.Time(o.Return).Add(clockNear)
		if at.Before(from) || at.After(to) {
			far++
			c.Verdict.Say(history.Fault, "an award of %v, asked for from %v to %v: %s", at, from.UTC(), to.UTC(), &o)
		}
	}
	c.Note("%d of the awards are not of the database's time", far)
	return nil
}

// clockStep is the time between two items of a burst whose times the clock goes
// through by itself.
const clockStep = 70 * time.Millisecond

func (c *campaign) moveClock() error {
	midnight, err := c.toMidnight()
	if err != nil {
		return err
	}
	if err := c.overBurst(midnight.Add(-5*clockStep), clockStep); err != nil {
		return err
	}
	// Ahead by five hours, over items that lie between.
	hours := c.offset() + 5*time.Hour
	if _, err := c.burst(c.now().Add(time.Hour), 20*time.Minute); err != nil {
		return err
	}
	if err := c.setClock(hours); err != nil {
		return err
	}
	if err := c.awaitDone(); err != nil {
		return err
	}
	// Back by three hours: the pool's time stands still, and what is planned
	// behind it comes due when the clock does.
	high := c.now()
	c.Sleep(300, 600)
	if err := c.setClock(hours - 3*time.Hour); err != nil {
		return err
	}
	c.Sleep(1000, 1500)
	from := high.Add(10 * time.Minute)
	if _, err := c.burst(from, clockStep); err != nil {
		return err
	}
	if err := c.setClock(c.offset() + from.Sub(c.now()).Truncate(time.Second)); err != nil {
		return err
	}
	if err := c.await(from.Add(12 * clockStep)); err != nil {
		return err
	}
	if err := c.awaitDone(); err != nil {
		return err
	}
	return c.setClock(0)
}

// toMidnight sets the clock to shortly before the next midnight of the zone.
func (c *campaign) toMidnight() (time.Time, error) {
	berlin, err := rules.ParseZone("Europe/Berlin")
	if err != nil {
		return time.Time{}, err
	}
	year, month, day := c.now().In(berlin).Date()
	midnight := time.Date(year, month, day+1, 0, 0, 0, 0, berlin)
	return midnight, c.setClock(midnight.Add(-3 * time.Second).Sub(c.now()).Truncate(time.Second))
}

// overBurst plans a burst, and waits until the clock is past it.
func (c *campaign) overBurst(from time.Time, step time.Duration) error {
	last, err := c.burst(from, step)
	if err != nil {
		return err
	}
	if err := c.await(last.Add(time.Second)); err != nil {
		return err
	}
	return c.awaitDone()
}

// offset is how far the clock is from the machine's.
func (c *campaign) offset() time.Duration { return time.Duration(c.moved.Load()) }

// setClock sets how far.
func (c *campaign) setClock(offset time.Duration) error {
	seconds := int64(offset / time.Second)
	if err := c.ClockMoved.Set(fmt.Sprintf("%+ds", seconds)); err != nil {
		return err
	}
	c.moved.Store(seconds * int64(time.Second))
	if c.Kind == "sqlite" {
		return nil // the file is read whenever the time is asked for
	}
	return c.clockIsOff(seconds)
}
