package experiments

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"drawsvc/internal/fault"
	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// thousandsItems are due within one second.
const thousandsItems = 10_000

// thousandsDue has thousands of items come due in one second, and kills one
// instance in the middle of them, before and after it has committed some.
func thousandsDue() Experiment {
	return Experiment{
		Name: "campaign, 10000 items due, service killed among them", points: true, own: true, run: underCampaign((*campaign).thousands),
		places: []place{
			{"sqlite", lockmode.ForUpdate, "", 1},
			{"postgres", lockmode.ForUpdate, "", 3}, {"postgres", lockmode.Optimistic, "", 3},
			{"mysql", lockmode.ForUpdate, "", 3}, {"mysql", lockmode.Optimistic, "", 3},
		},
	}
}

func (c *campaign) thousands() error {
	from := c.now().Add(6 * time.Second).Truncate(time.Second)
	if err := c.importItems(from); err != nil {
		return err
	}
	if err := c.killAmong(from); err != nil {
		return err
	}
	if err := c.awaitDone(); err != nil {
		return err
	}
	c.Judges = append(c.Judges, c.addsUp)
	return nil
}

// killAmong kills two instances, or one twice, among items that are due from a
// time on.
func (c *campaign) killAmong(from time.Time) error {
	first := c.Any()
	second := c.Instances[(first.Number+1)%len(c.Instances)]
	if err := first.Arm(fault.DueBeforeCommit, "kill"); err != nil {
		return err
	}
	first.Expect()
	if second != first {
		second.Expect()
		if err := second.Arm(fault.DueAfterCommit, "kill"); err != nil {
			return err
		}
	}
	if err := c.await(from); err != nil {
		return err
	}
	if err := c.killed(first); err != nil {
		return err
	}
	if second == first {
		first.Expect()
		if err := first.Arm(fault.DueAfterCommit, "kill"); err != nil {
			return err
		}
	}
	return c.killed(second)
}

// killed waits for an instance to be killed, and starts it again.
func (c *campaign) killed(i *stage.Instance) error {
	if err := i.AwaitTaken(); err != nil {
		return err
	}
	if err := i.Process.AwaitEnd(); err == nil {
		return fmt.Errorf("instance %d ended in good order though it was killed", i.Number)
	}
	return i.Again(c.Ctx)
}

// importItems plans the items with the command, beside the service or in its
// place: a file has one owner.
func (c *campaign) importItems(from time.Time) error {
	var file strings.Builder
	file.WriteString("at,prize,delta,reason\n")
	for n := range thousandsItems { // not in the order of their times
		at := from.Add(time.Duration(n*7919%thousandsItems) * time.Second / thousandsItems)
		fmt.Fprintf(&file, "%s,%s,1,moment %d\n", at.UTC().Format("2006-01-02T15:04:05.000000Z"), []string{"gold", "tin"}[n%2], n)
	}
	name := filepath.Join(c.Site.TempDir(), "moments.csv")
	if err := os.WriteFile(name, []byte(file.String()), 0o600); err != nil {
		return err
	}
	if c.Kind == "sqlite" {
		if err := c.Instances[0].Stop(); err != nil {
			return err
		}
	}
	output, err := exec.CommandContext(c.Ctx, filepath.Join(stage.Bin, stage.Released), "agenda", "import", "--pool", c.pool, "--database", c.URL, name).CombinedOutput()
	if err != nil {
		return fmt.Errorf("agenda import: %w: %s", err, output)
	}
	if c.Kind == "sqlite" {
		return c.Instances[0].Again(c.Ctx)
	}
	return nil
}

// addsUp wants the stock of all items in the pool.
func (c *campaign) addsUp() error {
	var pool struct {
		Prizes []struct {
			Prize   string
			Stocked int64
		}
	}
	if err := harness.FetchJSON(c.Ctx, c.Instances[0].URL()+"/admin/pools/"+c.pool+"/audit", &pool); err != nil {
		return err
	}
	var stocked int64
	for _, p := range pool.Prizes {
		if p.Prize != "none" {
			stocked += p.Stocked
		}
	}
	if stocked != campaignGold+campaignTin+thousandsItems {
		c.Verdict.Say(history.Fault, "%d units are stocked, and %d by all items", stocked, campaignGold+campaignTin+thousandsItems)
	}
	return nil
}
