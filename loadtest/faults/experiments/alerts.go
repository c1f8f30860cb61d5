package experiments

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// alertFault is a fault, and the alerts that it has to fire.
type alertFault struct {
	name   string
	alerts []string
	// labels tell the alert from those that the load fires by itself.
	labels string
	// begin makes the fault, and returns what ends it.
	begin func(*alarm) (end func() error, err error)
}

// alertFaults fire every alert of the rules, in this order: the first do not
// disturb those behind them.
func alertFaults() []alertFault {
	return []alertFault{
		{"pools drawn to their last units", []string{"DrawsvcLowStock", "DrawsvcSoldOut"}, `,pool=~"alert-.*"`, (*alarm).drawDown},
		{"instance killed", []string{"DrawsvcDown"}, "", (*alarm).killOne},
		{"next release before its migration", []string{"DrawsvcSchemaBehind"}, "", (*alarm).runAhead},
		{"rules of a later release", []string{"DrawsvcRulesUnreadable"}, "", (*alarm).writeLaterRules},
		{"codes under a key that nobody has", []string{"DrawsvcSealKeyMissing", "DrawsvcCodesLow"}, "", (*alarm).writeForeignCodes},
		{"database's clock an hour ahead", []string{"DrawsvcClockLeapt"}, "", (*alarm).moveClock},
		{"pool written an hour ahead", []string{"DrawsvcPoolsAhead"}, "", (*alarm).writeAhead},
		{"job pinned to a host that is down", []string{"DrawsvcJobOverdue"}, `,exported_job="audit"`, (*alarm).pinJob},
		{"source of the catalogue down", []string{"DrawsvcCatalogueOld"}, "", (*alarm).endSource},
		{"rows changed by hand", []string{"DrawsvcAuditViolations"}, "", (*alarm).changeRows},
		{"rows of a signed log changed by hand", []string{"DrawsvcLogFork"}, "", (*alarm).editSigned},
		{"trigger that refuses awards", []string{"DrawsvcInternalErrors"}, "", (*alarm).refuseAwards},
		{"primary set read-only", []string{"DrawsvcWritesRefused"}, "", (*alarm).setReadOnly},
		{"Redis emptied again and again", []string{"DrawsvcStaleLocks"}, "", (*alarm).emptyRedis},
		{
			"synchronous standby lost",
			[]string{"DrawsvcOutcomeUnknown", "DrawsvcErrorBudget", "DrawsvcLatency", "DrawsvcQueueStuck", "DrawsvcConnectionsShort"}, "",
			(*alarm).loseStandby,
		},
		{"links to the database silent", []string{"DrawsvcNotReady", "DrawsvcPoolCountsOld"}, "", (*alarm).silence},
	}
}

// alerts makes one fault after another under load, while a real Prometheus
// scrapes the instances: each alert has to fire.
func alerts() Experiment {
	return Experiment{
		Name: "alerts fire", tries: history.Ahead, begins: stage.Released, jobs: []string{"audit"}, links: true, own: true, Internal: true, timeout: alertTimeout,
		places: []place{{"postgres", lockmode.External, "redis", 3}}, base: fewConnections, run: alertsFire,
	}
}

// alertTimeout is longer than the wait of a draw that an alert is about.
const alertTimeout = 5 * time.Second

// alertsSilent is the control: a program that says it is ready whatever happens.
func alertsSilent() Cell {
	e := alerts()
	e.begins = history.AlwaysReady
	d, _ := history.DoubleOf(history.AlwaysReady)
	return e.control(d.Flaw)
}

// fewConnections makes a database to which each instance has two connections, and
// keys for the seeds of its pools.
func fewConnections(g *stage.Ground, s *harness.Site, kind string) *stage.Base {
	b := withSeedKeys(g, s, kind)
	u, err := url.Parse(b.URL)
	s.Must(err)
	values := u.Query()
	values.Set("pool_max_conns", "2")
	u.RawQuery = values.Encode()
	b.URL = u.String()
	return b
}

func alertsFire(t *trial) error {
	a := newAlarm(t)
	t.Must(a.await("drawsvc_ready == 1", len(t.Instances)))
	if n, err := a.query(`ALERTS{alertstate="firing"}`); err != nil || n > 0 {
		return fmt.Errorf("%d alerts fire before any fault: %w", n, err)
	}
	return t.UnderLoadOf(alertWorkers, func() error {
		for _, f := range alertFaults() {
			if err := harness.Caught(func() error { return a.fires(f) }); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
		return nil
	})
}

// alertWorkers is how many clients draw meanwhile.
const alertWorkers = 6

// fires makes a fault, waits for its alerts, and ends it.
func (a *alarm) fires(f alertFault) error {
	end, err := f.begin(a)
	a.Must(err)
	began := time.Now()
	var said []string
	for _, alert := range f.alerts {
		if err := a.await(firing(alert, f.labels), 1); err != nil {
			a.Verdict.Say(history.Fault, "%s: %s does not fire: %v", f.name, alert, err)
			continue
		}
		said = append(said, fmt.Sprintf("%s after %.0f s", alert, time.Since(began).Seconds()))
	}
	if len(said) > 0 {
		a.Note("%s: %s", f.name, strings.Join(said, ", "))
	}
	err = end()
	a.Ended = time.Now()
	return err
}
