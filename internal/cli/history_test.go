package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPoolHistory: the changes of a pool by commands are in its log, with their actor,
// and "closed" is final.
func TestPoolHistory(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		p := on(t, url)
		p.ok("migrate", "up")
		by := func(args ...string) string { return p.ok(append(args, "--actor", "anna")...) }
		require.Equal(t, "pool spring created (paused): prizes 1, units 3\n", by("pool", "create", "spring", "--state", "paused", "--prize", "id=gold,stock=3"))
		require.Equal(t, "pool spring has the prize tin: 5 stocked\n", by("prize", "add", "--pool", "spring", "--prize", "id=tin,stock=5"))
		require.Equal(t, "pool spring, prize tin: name \"Tin\", value 0.50\n", by("prize", "rename", "--pool", "spring", "--prize", "tin", "--name", "Tin", "--value", "0.50"))
		require.Equal(t, "pool spring has the name \"Spring\"\n", by("pool", "rename", "spring", "--name", "Spring"))
		require.Equal(t, "pool spring is open\n", p.ok("pool", "open", "spring"))
		drawnFrom(t, p, 1)
		p.refused(exitFailure, "has issued", "pool", "delete", "spring")
		p.refused(exitFailure, "only a closed pool can be archived", "pool", "archive", "spring")
		p.ok("pool", "close", "spring")
		p.refused(exitFailure, "closed, which is final", "pool", "open", "spring")
		require.Equal(t, "pool spring is archived\n", p.ok("pool", "archive", "spring"))
		require.NotContains(t, p.ok("pool", "list"), "spring")
		require.Regexp(t, `(?m)^spring +closed`, p.ok("pool", "list", "--archived"))
		require.Contains(t, p.ok("pool", "show", "spring"), "closed and archived")
		p.refused(exitUsage, "state of a new pool must be open or paused", "pool", "create", "summer", "--state", "closed")
		p.refused(exitUsage, "actor is missing or empty", "pool", "create", "summer", "--actor", "")
		p.refused(exitUsage, "nothing to change", "prize", "rename", "--pool", "spring", "--prize", "tin")
		p.refused(exitUsage, "name one prize", "prize", "add", "--pool", "spring")

		var all []string
		for line := range strings.Lines(p.ok("log", "--pool", "spring")) {
			var e struct {
				Kind, What, Prize, Actor string
				Version                  int
			}
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			require.Equal(t, len(all)+1, e.Version)
			if strings.HasPrefix(e.Actor, "cli:") {
				e.Actor = "cli"
			}
			if e.Kind == "award" {
				e.Prize = ""
			}
			all = append(all, fmt.Sprint(e.Kind, " ", e.What, e.Prize, " ", e.Actor))
		}
		require.Equal(t, []string{
			"change created anna", "move gold anna", "move tin anna", "change prize anna", "change name anna", "change state cli",
			"award  ", "change state cli", "change archived cli",
		}, all)
		require.Equal(t, 2, strings.Count(p.ok("log", "--pool", "spring", "--after", "7"), "\n"))
		p.refused(exitFailure, `there is no pool "autumn"`, "log", "--pool", "autumn")
		p.ok("audit")

		p.ok("pool", "create", "winter", "--prize", "id=gold,stock=3")
		require.Equal(t, "pool winter is deleted\n", p.ok("pool", "delete", "winter"))
		p.refused(exitFailure, `there is no pool "winter"`, "pool", "show", "winter")
	})
}
