package experiments

import (
	"fmt"
	"slices"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
)

const (
	adventDays = 24
	// adventMugs are spread over each day. Beside them each day has a sled at a winning
	// moment.
	adventMugs = 20
	// adventDraws is the number of draws at each visited hour of a day, by adventUsers users.
	adventDraws, adventUsers = 40, 90
	// adventRules allow one draw a day. The budget ends before the calendar does.
	adventRules = `{"fallback":"none","win":"1/4","zone":"Europe/Berlin","budget":{"max":"3000.00"},"limits":[{"of":"draws","max":1,"per":"day"}]}`
)

// adventHours returns the hours of a day at which users draw.
func adventHours() []time.Duration {
	return []time.Duration{2 * time.Second, 9 * time.Hour, 18 * time.Hour, 24*time.Hour - 30*time.Second}
}

// advent is an Advent calendar from its plan to its end, by the database's clock. Its mugs
// and sleds come at instants that nobody knows before.
func advent() Experiment {
	return Experiment{
		Name: "campaign of 24 days, with winning moments", clock: stage.ClockOfDatabase, points: true, own: true, flags: followsLeaps(),
		places: []place{{"sqlite", lockmode.Optimistic, "", 1}, {"postgres", lockmode.Optimistic, "", 3}, {"mysql", lockmode.ForUpdate, "", 3}},
		run:    duringDays("advent", []string{"budget", "moment"}, []history.Prize{{ID: "mug"}, {ID: "sled"}, {ID: "none"}}, (*day).planAdvent, (*day).passAdvent),
	}
}

// planAdvent creates the campaign and plans its days by commands.
func (d *day) planAdvent() error {
	d.opensAt(0)
	midnight := func(n int) string { return d.opens.AddDate(0, 0, n).Format(time.RFC3339) }
	commands := [][]string{
		{"pool", "create", d.pool, "--state", "paused", "--prize", "id=mug,value=5.00,stock=0", "--prize", "id=sled,value=100.00,stock=0", "--prize", "id=none,kind=blank"},
		{"agenda", "add", "--pool", d.pool, "--at", midnight(0), "--state", "open"},
		{"agenda", "add", "--pool", d.pool, "--at", midnight(adventDays), "--state", "closed"},
	}
	for n := range adventDays {
		spread := []string{"agenda", "spread", "--pool", d.pool, "--from", midnight(n), "--to", midnight(n + 1), "--random"}
		commands = append(commands, slices.Concat(spread, []string{"--prize", "mug", "--units", fmt.Sprint(adventMugs)}), slices.Concat(spread, []string{"--prize", "sled", "--units", "1", "--moment"}))
	}
	return d.prepareBy(adventRules, commands)
}

// passAdvent visits each day of the calendar, and draws once more after its end.
func (d *day) passAdvent() error {
	for n := range adventDays {
		for _, hour := range adventHours() {
			d.Must(d.setClock(time.Until(d.opens.AddDate(0, 0, n).Add(hour))))
			ops := d.visitors(adventDraws)
			client.Parallel(len(ops), func(n int) { d.Send(d.Ctx, ops[n]) })
		}
	}
	d.Must(d.setClock(time.Until(d.opens.AddDate(0, 0, adventDays)) + 2*time.Second))
	isDrawn := func(o history.Op) bool { return o.Code != "pool-not-open" }
	if slices.ContainsFunc(d.atOnce(d.visitors(adventDraws)), isDrawn) {
		d.Verdict.Say(history.Fault, "a draw was not refused after the last day")
	}
	d.Must(d.awaitDone())
	d.Recover(time.Now())
	return nil
}

// visitors returns draws of the calendar's users.
func (d *day) visitors(n int) []history.Op {
	return d.drawsOf(n, func() string { return fmt.Sprint("visitor-", d.Rand.IntN(adventUsers)) })
}
