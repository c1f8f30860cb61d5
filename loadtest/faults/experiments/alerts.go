package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

type alertFault struct {
	name   string
	alerts []string
	// labels distinguish the alert from those that the load itself fires.
	labels string
	// begin causes the fault, and returns a function that ends it.
	begin func(*alarm) (end func() error, err error)
}

// alertFaults returns faults that fire every alert of the rules. They are in an order in
// which no fault disturbs a later one.
func alertFaults() []alertFault {
	return []alertFault{
		{"pools drawn to their last units", []string{"DrawsvcLowStock", "DrawsvcSoldOut"}, `,pool=~"alert-.*"`, (*alarm).drawDown},
		{"instance killed", []string{"DrawsvcDown"}, "", (*alarm).killOne},
		{"instances not found", []string{"DrawsvcNoTarget"}, "", (*alarm).loseTargets},
		{"certificate and token that end in three days", []string{"DrawsvcCertificateEnds", "DrawsvcTokenEnds"}, "", (*alarm).nearEnds},
		{"caller with an expired token", []string{"DrawsvcTokensRefused"}, "", (*alarm).useExpired},
		{"caller with a wrong token", []string{"DrawsvcTokensWrong"}, "", (*alarm).useWrong},
		{"idle connections", []string{"DrawsvcCallersNearMaximum"}, "", (*alarm).fillConnections},
		{"planned item that cannot be done", []string{"DrawsvcAgendaFailed"}, "", (*alarm).planImpossible},
		{"planned item of a pool whose row is held", []string{"DrawsvcAgendaLate"}, "", (*alarm).holdPool},
		{"next release before its migration", []string{"DrawsvcSchemaBehind"}, "", (*alarm).runAhead},
		{"rules of a later release", []string{"DrawsvcRulesUnreadable"}, "", (*alarm).writeLaterRules},
		{"codes under a key that nobody has", []string{"DrawsvcSealKeyMissing", "DrawsvcCodesLow"}, "", (*alarm).writeForeignCodes},
		{"webhook turned off", []string{"DrawsvcHookFailing"}, "", (*alarm).turnHookOff},
		{"claimed award that nobody fulfils", []string{"DrawsvcAwardsUnfulfilled"}, "", (*alarm).leaveClaimed},
		{"database's clock an hour ahead", []string{"DrawsvcClockLeapt"}, "", (*alarm).moveClock},
		{"pool written an hour ahead", []string{"DrawsvcPoolsAhead"}, "", (*alarm).writeAhead},
		{"job pinned to a host that is down", []string{"DrawsvcJobOverdue"}, `,exported_job="audit"`, (*alarm).pinJob},
		{"source of the catalogue down", []string{"DrawsvcCatalogueOld"}, "", (*alarm).endSource},
		{"rows changed by hand", []string{"DrawsvcAuditViolations"}, "", (*alarm).changeRows},
		{"rows of a signed log changed by hand", []string{"DrawsvcLogFork"}, "", (*alarm).editSigned},
		{"publisher paused", []string{"DrawsvcPublisherBehind"}, "", (*alarm).haltPublisher},
		{"trigger that refuses awards", []string{"DrawsvcInternalErrors"}, "", (*alarm).refuseAwards},
		{"primary set read-only", []string{"DrawsvcWritesRefused"}, "", (*alarm).setReadOnly},
		{"Redis emptied again and again", []string{"DrawsvcStaleLocks"}, "", (*alarm).emptyRedis},
		{
			"synchronous standby lost",
			[]string{
				"DrawsvcStandbyLost", "DrawsvcOutcomeUnknown", "DrawsvcErrorBudgetFast", "DrawsvcErrorBudget", "DrawsvcErrorBudgetSlow",
				"DrawsvcLatency", "DrawsvcQueueStuck", "DrawsvcConnectionsShort",
			}, "",
			(*alarm).loseStandby,
		},
		{"links to the database silent", []string{"DrawsvcNotReady", "DrawsvcPoolCountsOld"}, "", (*alarm).silence},
	}
}

// alerts causes each fault in turn under load, while a real Prometheus scrapes the
// instances: each alert must fire.
func alerts() Experiment {
	return Experiment{
		Name: "alerts fire", tries: history.Ahead, begins: stage.Released, jobs: []string{"audit"}, links: true, own: true, Internal: true, timeout: alertTimeout,
		places: []place{{"postgres", lockmode.External, "redis", 3}}, base: fewConnections, run: alertsFire,
	}
}

// alertTimeout is the service's timeout of a request. It is longer than the wait of
// draws after which an alert fires.
const alertTimeout = 5 * time.Second

// alertsSilent is the control of alerts: a program that always reports that it is ready.
func alertsSilent() Cell {
	e := alerts()
	e.begins = history.AlwaysReady
	d, _ := history.DoubleOf(history.AlwaysReady)
	return e.control(d.Flaw)
}

// fewConnections creates a database to which each instance has two connections, and
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
	t.Must(a.await("drawsvc_ready == 1", len(t.Instances)+1))                 // one series for each instance and one for the bystander
	if err := a.await(`absent(ALERTS{alertstate="firing"})`, 1); err != nil { // before the first scrape there is an alert
		return fmt.Errorf("an alert fires before any fault: %w", err)
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

const alertWorkers = 6

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

const (
	// rulesFile has the alerts that operators get.
	rulesFile = "deploy/prometheus/rules.yml"
	// shortWindow is the window of each rate in the experiment.
	shortWindow = "20s"
	// firesMax is the maximum time until an alert fires: the metrics of pools are read
	// every 15 s, and reading them may take 10 s.
	firesMax = 45 * time.Second
)

var (
	ruleWait   = regexp.MustCompile(`(?m)^(\s+for:) \S+$`)
	ruleWindow = regexp.MustCompile(`\[\d+[smhd]\]`)
	ruleAlert  = regexp.MustCompile(`(?m)^ *- alert: (\S+)$`)
)

// shortened lists the bounds of minutes and hours that are too long for the experiment,
// each with a shorter one.
func shortened() [][2]string {
	return [][2]string{
		{"drawsvc_pools_read_timestamp_seconds > 120", "drawsvc_pools_read_timestamp_seconds > 20"},
		{"(drawsvc_job_overdue_seconds) > 600", "(drawsvc_job_overdue_seconds) > 2"},
		{"min(drawsvc_catalogue_age_seconds) > 43200", "min(drawsvc_catalogue_age_seconds) > 8"},
		{"max(drawsvc_publish_lag_seconds) > 60", "max(drawsvc_publish_lag_seconds) > 4"},
	}
}

// shortRules returns the rules with their times shortened, and otherwise unchanged.
func shortRules(text string) (string, error) {
	text = ruleWindow.ReplaceAllString(ruleWait.ReplaceAllString(text, "$1 1s"), "["+shortWindow+"]")
	for _, bound := range shortened() {
		if strings.Count(text, bound[0]) != 1 {
			return "", fmt.Errorf("the rules hold %q not once", bound[0])
		}
		text = strings.Replace(text, bound[0], bound[1], 1)
	}
	return text, nil
}

// alarm is a Prometheus that scrapes all instances and a publisher, with the
// shortened rules.
type alarm struct {
	*trial
	prometheus *servertest.Server
	// rules is the file of the shortened rules.
	rules     string
	publisher publisher
	bystander *bystander
}

func newAlarm(t *trial) *alarm {
	text, err := os.ReadFile(rulesFile)
	t.Must(err)
	short, err := shortRules(string(text))
	t.Must(err)
	folder := t.Site.TempDir()
	file := filepath.Join(folder, "rules.yml")
	// The server runs under another account.
	t.Must(errors.Join(os.Chmod(folder, 0o755), os.WriteFile(file, []byte(short), 0o644)))
	publisher, bystander := startPublisher(t), startBystander(t)
	targets := []string{publisher.address, bystander.metrics}
	for _, i := range t.Instances {
		targets = append(targets, i.Address)
	}
	return &alarm{t, servertest.StartPrometheus(t.Site, file, harness.AdminToken, targets...), file, publisher, bystander}
}

func (a *alarm) query(expr string) (int, error) {
	var found struct {
		Data struct {
			Result []json.RawMessage `json:"result"`
		} `json:"data"`
	}
	err := harness.FetchJSON(a.Ctx, a.prometheus.URL()+"/api/v1/query?query="+url.QueryEscape(expr), &found)
	return len(found.Data.Result), err
}

func firing(alert, labels string) string {
	return fmt.Sprintf(`ALERTS{alertname=%q,alertstate="firing"%s}`, alert, labels)
}

// await waits until an expression has at least the given number of series.
func (a *alarm) await(expr string, least int) error {
	for until := time.Now().Add(firesMax); ; time.Sleep(200 * time.Millisecond) {
		n, err := a.query(expr)
		switch {
		case err != nil || n >= least:
			return err
		case time.Now().After(until):
			return fmt.Errorf("%d instead of %d series of %s after %v", n, least, expr, firesMax)
		}
	}
}

func nothing() error { return nil }

// drawDown draws from two pools until the first has one of its twenty units left, and
// the second has none.
func (a *alarm) drawDown() (func() error, error) {
	for pool, draws := range map[string]int{a.Pool("alert-low"): 19, a.Pool("alert-out"): 20} {
		a.Must(a.MakePool(pool, 20))
		for _, o := range a.asking(pool, draws) {
			a.Must(a.insist(o))
		}
	}
	return nothing, nil
}

func (a *alarm) killOne() (func() error, error) {
	i := a.Instances[2]
	i.Kill()
	return func() error { return i.Again(a.Ctx) }, nil
}

// runAhead starts the next release on the schema of this one, which permits it.
func (a *alarm) runAhead() (func() error, error) {
	i := a.Instances[2]
	args := i.Args
	replace := func(program string, args []string) error {
		a.Must(i.Stop())
		i.Program, i.Args = program, args
		return i.Again(a.Ctx)
	}
	unmigrated := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "--migrate" })
	return func() error { return replace(a.Begins, args) }, replace(a.Program, unmigrated)
}

// writeLaterRules puts rules in force that have a member which no release knows, and
// starts an instance that reports that. At the end it restores the rules by SQL: 0.1.0
// cannot replace them.
func (a *alarm) writeLaterRules() (func() error, error) {
	pool := a.Pool("alert-later")
	a.Must(a.MakePool(pool, 20))
	_, err := harness.Operate(a.Ctx, http.MethodPut, a.Instances[0].URL()+"/admin/pools/"+pool+"/rules", `{"disclose":true}`, http.StatusOK)
	a.Must(err)
	write := func(from, to string) error {
		return stage.ExecAll(a.Base.Admin, `UPDATE changes SET body = REPLACE(body, '`+from+`', '`+to+`') WHERE what = 'rules' AND pool_id = '`+pool+`'`)
	}
	const own, later = `{"disclose"`, `{"cooldown":"1m","disclose"`
	a.Must(write(own, later))
	end, err := a.runAhead()
	return func() error {
		a.Must(write(later, own))
		return end()
	}, err
}

// moveClock gives all new sessions a clock that is an hour ahead of the server's, and
// ends the present sessions.
func (a *alarm) moveClock() (func() error, error) {
	const others = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`
	database := func(set string) string {
		return `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I ` + set + `', current_database()); END $$`
	}
	begin := []string{
		`CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT pg_catalog.clock_timestamp() + interval ''1 hour'''`,
		database(`SET search_path = public, pg_catalog`), others,
	}
	end := []string{database(`RESET search_path`), `DROP FUNCTION public.clock_timestamp()`, others}
	return func() error { return stage.ExecAll(a.Base.Admin, end...) }, stage.ExecAll(a.Base.Admin, begin...)
}

// writeAhead sets the time of a pool's last entry an hour ahead, as a wrong clock
// would.
func (a *alarm) writeAhead() (func() error, error) {
	pool := a.Pool("alert-ahead")
	a.Must(a.MakePool(pool, 20))
	move := func(by string) error {
		return stage.ExecAll(a.Base.Admin, `UPDATE pools SET at = at `+by+` interval '1 hour' WHERE id = '`+pool+`'`)
	}
	return func() error { return move("-") }, move("+")
}

// writeForeignCodes gives a prize codes that are sealed with a key that no instance has,
// at most as many as its stock.
func (a *alarm) writeForeignCodes() (func() error, error) {
	pool := a.Pool("alert-codes")
	a.Must(a.MakePool(pool, 20))
	_, err := harness.Operate(a.Ctx, http.MethodPut, a.Instances[0].URL()+"/admin/pools/"+pool+"/rules", `{"low":[{"prize":"gold","below":5}]}`, http.StatusOK)
	a.Must(err)
	remove := func() error { return stage.ExecAll(a.Base.Admin, `DELETE FROM code_heads WHERE pool_id = '`+pool+`'`) }
	return remove, stage.ExecAll(a.Base.Admin,
		`INSERT INTO code_heads (pool_id, prize_id, places, sealed_under) SELECT pool_id, id, stocked, 'nobody' FROM prizes WHERE pool_id = '`+pool+`'`)
}

// leaveClaimed adds a pool with a step by which an award was claimed eight days ago.
func (a *alarm) leaveClaimed() (func() error, error) {
	pool := a.Pool("alert-claimed")
	a.Must(a.MakePool(pool, 20))
	remove := func() error {
		return stage.ExecAll(a.Base.Admin, `DELETE FROM steps WHERE pool_id = '`+pool+`'`, `DELETE FROM step_heads WHERE pool_id = '`+pool+`'`)
	}
	return remove, stage.ExecAll(a.Base.Admin, `INSERT INTO step_heads (pool_id, n, claimed) VALUES ('`+pool+`', 1, 1)`,
		`INSERT INTO steps (pool_id, n, award, seq, what, state, stands, actor, since, at)
VALUES ('`+pool+`', 1, 2, 1, 'claimed', 'claimed', 'claimed', 'test', now() - interval '8 days', now() - interval '8 days')`)
}

// turnHookOff adds a hook that is turned off.
func (a *alarm) turnHookOff() (func() error, error) {
	remove := func() error { return stage.ExecAll(a.Base.Admin, `DELETE FROM hooks WHERE id = 'shop'`) }
	return remove, stage.ExecAll(a.Base.Admin,
		`INSERT INTO hooks (id, url, is_off, why, key_id, secret, created_at) VALUES ('shop', 'https://shop.example/in', true, 'operator', 'nobody', '', now())`)
}

func (a *alarm) patchJob(body string) error {
	_, err := harness.Operate(a.Ctx, http.MethodPatch, a.Instances[0].URL()+"/admin/jobs/audit", body, http.StatusOK)
	return err
}

func (a *alarm) pinJob() (func() error, error) {
	return func() error { return a.patchJob(`{"host":null,"schedule":"every 15m"}`) }, a.patchJob(`{"host":"absent","schedule":"every 1s"}`)
}

func (a *alarm) endSource() (func() error, error) {
	a.Source.Down.Store(true)
	return func() error { a.Source.Down.Store(false); return nil }, nil
}

// changeRows makes a counter wrong by one award, in a separate pool. Its end corrects
// the counter.
func (a *alarm) changeRows() (func() error, error) {
	gold := []harness.Prize{{ID: "gold", Name: "Gold", Value: "1.00", Stock: 5}}
	a.Must(harness.MakePool(a.Ctx, a.Instances[0].URL(), harness.Pool{ID: "tampered", Name: "Tampered", Prizes: gold}))
	audit := func(issued string) error {
		a.Must(stage.ExecAll(a.Base.Admin, `UPDATE prizes SET issued = `+issued+` WHERE pool_id = 'tampered'`))
		_, err := harness.Operate(a.Ctx, http.MethodPost, a.Instances[0].URL()+"/admin/jobs/audit/run", "", http.StatusAccepted)
		return err
	}
	return func() error { return audit("0") }, audit("1")
}

// refuseAwards adds a trigger that fails with an error that the service does not know.
func (a *alarm) refuseAwards() (func() error, error) {
	pool := a.Pool("alert-refused")
	a.Must(a.MakePool(pool, 20))
	err := stage.ExecAll(a.Base.Admin,
		`CREATE FUNCTION refuse_awards() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = 'XX001'; END $$`,
		`CREATE TRIGGER refuse_awards BEFORE INSERT ON awards FOR EACH ROW WHEN (NEW.pool_id = '`+pool+`') EXECUTE FUNCTION refuse_awards()`)
	a.Must(err)
	for _, o := range a.asking(pool, len(a.Instances)) {
		if said := a.Send(a.Ctx, o); said.Code != "internal" {
			return nil, fmt.Errorf("not internal: %s", &said)
		}
	}
	return func() error {
		return stage.ExecAll(a.Base.Admin, `DROP TRIGGER refuse_awards ON awards`, `DROP FUNCTION refuse_awards()`)
	}, nil
}

// setReadOnly makes the database refuse writes, and ensures that each instance notices.
func (a *alarm) setReadOnly() (func() error, error) {
	pool := a.Pool("alert-read-only")
	a.Must(a.MakePool(pool, 20))
	a.Must(stage.ExecAll(a.Base.Admin, `ALTER SYSTEM SET default_transaction_read_only = on`, `SELECT pg_reload_conf()`))
	time.Sleep(time.Second) // sessions notice it soon
	for _, o := range a.asking(pool, len(a.Instances)) {
		if said := a.Send(a.Ctx, o); said.Code == "" {
			return nil, fmt.Errorf("it was drawn from a database that takes no writes: %s", &said)
		}
	}
	return func() error {
		return stage.ExecAll(a.Base.Admin, `ALTER SYSTEM RESET default_transaction_read_only`, `SELECT pg_reload_conf()`)
	}, nil
}

// emptyRedis deletes the lock repeatedly, so that several processes hold it at once.
func (a *alarm) emptyRedis() (func() error, error) {
	return a.meanwhile(func(ctx context.Context) {
		_, _ = stage.RedisDo(ctx, a.LockServers[0].Addr(), "FLUSHALL") // the next attempt follows
		time.Sleep(5 * time.Millisecond)
	}), nil
}

// meanwhile repeats a function until end is called.
func (a *alarm) meanwhile(do func(ctx context.Context)) (end func() error) {
	ctx, cancel := context.WithCancel(a.Ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			do(ctx)
		}
	}()
	return func() error { cancel(); <-ended; return nil }
}

// waitingPools is the number of pools that are drawn from while commits hang: more than
// there are connections.
const waitingPools = 12

// loseStandby makes each commit wait for a standby that does not exist.
func (a *alarm) loseStandby() (func() error, error) {
	var ops []history.Op
	for n := range waitingPools {
		pool := a.Pool(fmt.Sprint("alert-waits-", n))
		a.Must(a.MakePool(pool, 1000))
		o := a.asking(pool, 1)[0]
		o.Instance = n % len(a.Instances)
		ops = append(ops, o)
	}
	names := func(names string) error {
		return stage.ExecAll(a.Base.Admin, `ALTER SYSTEM SET synchronous_standby_names = '`+names+`'`, `SELECT pg_reload_conf()`)
	}
	a.Site.Cleanup(func() { _ = names("") }) // the server is shared
	a.Must(names("absent"))
	end := a.meanwhile(func(context.Context) {
		client.Parallel(len(ops), func(n int) {
			o := ops[n]
			o.Key = a.Key()
			a.Send(a.Ctx, o)
		})
	})
	return func() error {
		a.Must(names(""))
		return end()
	}, nil
}

// silence holds back every byte to and from the database.
func (a *alarm) silence() (func() error, error) {
	a.each((*servertest.Proxy).Hold)
	return func() error { a.each((*servertest.Proxy).Pass); return nil }, nil
}
