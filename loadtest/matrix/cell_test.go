package main

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
)

func TestBothMatricesBeginWithTheControlAndCoverEverything(t *testing.T) {
	for name, quick := range map[string]bool{"full": false, "quick": true} {
		t.Run(name, func(t *testing.T) {
			list := cells(settings{Selection: harness.Selection{Quick: quick, Only: regexp.MustCompile("")}})
			assert.True(t, list[0].control(), "the control comes first")
			names, modes, databases := map[string]bool{}, map[string]bool{}, map[string]bool{}
			for _, c := range list {
				assert.False(t, names[c.name()], "%s is there twice", c.name())
				names[c.name()] = true
				modes[c.Mode], databases[c.Database] = true, true
				assert.False(t, c.Database == "sqlite" && c.Instances > 1, "SQLite serves one process")
			}
			for _, mode := range []string{"for-update", "optimistic", "external"} {
				assert.True(t, modes[mode], mode)
			}
			for _, p := range sites() {
				assert.True(t, databases[p.database], p.database)
			}
		})
	}
}

func TestARunMustCrossWhatItHasToAndNothingElse(t *testing.T) {
	must := cell{crossed: "over_issued"}
	ran := func(exit int, failed ...string) loadRun {
		return loadRun{exit: exit, summary: &summary{Passed: len(failed) == 0, Failed: failed}}
	}
	assert.Empty(t, expected(must, ran(99, "over_issued must be count==0, is 3")))
	assert.NotEmpty(t, expected(must, ran(0)), "it caught nothing")
	assert.NotEmpty(t, expected(must, ran(108, "over_issued must be count==0, is 3")), "it was stopped")
	assert.NotEmpty(t, expected(must, ran(99, "unexpected must be count==0, is 1")), "it failed for another reason")
	assert.Empty(t, expected(cell{}, ran(0)))
	assert.NotEmpty(t, expected(cell{}, ran(99, "unaccounted must be count==0, is 1")))
}

// TestTiDBIsThereIfItIsNamed: if the environment names a TiDB server, it gets the cells
// of MySQL, with the locks that TiDB has.
func TestTiDBIsThereIfItIsNamed(t *testing.T) {
	only := func() (names []string) {
		for _, c := range cells(settings{Selection: harness.Selection{Only: regexp.MustCompile(`TiDB.* ×3`)}}) {
			names = append(names, c.name())
		}
		return names
	}
	t.Setenv(servertest.TiDBVariable, "")
	assert.Empty(t, only())
	t.Setenv(servertest.TiDBVariable, "mysql://root@tidb:4000/test")
	assert.Equal(t, []string{
		"oversell drawsvc TiDB for-update ×3", "oversell drawsvc TiDB optimistic ×3", "oversell drawsvc TiDB external etcd: ×3",
		"oversell drawsvc TiDB external redis: ×3", "oversell drawsvc TiDB external redis×3: ×3", "oversell drawsvc TiDB external table: ×3",
		"oversell drawsvc TiDB external zookeeper: ×3", "campaign drawsvc TiDB for-update ×3", "campaign drawsvc TiDB optimistic ×3",
		"campaign drawsvc TiDB external table: ×3", "idempotency drawsvc TiDB for-update ×3", "modes drawsvc TiDB for-update table: ×3",
		"spike drawsvc TiDB for-update ×3",
	}, only())
}
