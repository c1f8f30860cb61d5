package cli

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/setting"
)

func poolCopyCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "copy ID --to ID", "Create a paused pool like another one, all or nothing", acting, printing, namingPool)
	c.Long = `Create a paused pool with the prizes, the rules and what is only shown of another
one. With --days the agenda is copied too, each item so many calendar days later
at the same time of day. Hidden items are spread again, at random. Keep the salts
of the seals that are printed: they are stored nowhere.`
	c.Example = `  drawsvc pool copy advent-2026 --to advent-2027 --name 'Advent 2027' --days 365`
	var to api.PoolCopy
	var days int
	var zone string
	f := c.Flags()
	f.StringVar(&to.ID, "to", "", "`ID` of the new pool")
	f.StringVar(&to.Name, "name", "", "name of the new pool (default its id)")
	f.IntVar(&days, "days", 0, "copy the agenda, so many `DAYS` later; without it none is copied")
	f.StringVar(&zone, "zone", "", "`ZONE` of the time of day, such as Europe/Berlin (default that of the rules in force, else of former or planned rules, else UTC)")
	return c.does(func([]string) error {
		to.Name = cmp.Or(to.Name, to.ID)
		if f.Changed("days") {
			to.Days = &days
		}
		if zone != "" {
			to.Zone = &zone
		}
		if _, err := to.Read(); err != nil {
			return setting.AsUsage(err)
		}
		return nil
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		made, err := on.CopyPool(ctx, string(c.pool), &to)
		if err != nil {
			return err
		}
		if c.output == outputJSON {
			return api.WriteLine(env.Stdout, &made)
		}
		_, err = setting.Printf(env.Stdout, "pool %s created (%s): prizes %d, units %d\n", made.Pool.ID, made.Pool.State, len(made.Pool.Prizes), unitsOf(&made.Pool).stocked)
		for i := range made.Planned {
			if p := &made.Planned[i]; err == nil {
				_, err = setting.Printf(env.Stdout, "planned %d items, as version %d, sha256 %s, salt %s\n", p.Count, p.Version, p.SHA256, p.Salt)
			}
		}
		return err
	})
}
