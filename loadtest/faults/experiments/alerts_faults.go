package experiments

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

func nothing() error { return nil }

// drawDown leaves one unit of twenty in a pool, and none in another.
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

// runAhead starts the next release on the schema of this one, which admits it.
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

// writeLaterRules puts rules in force with a member that no release knows, and starts
// an instance that says so. They are put back by hand: 0.1.0 cannot replace them.
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

// moveClock puts a clock that is an hour ahead before the server's own, for all
// sessions that begin from then on, and ends those that are there.
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

// writeAhead sets the time of a pool's last entry an hour ahead, as a clock that was
// wrong leaves it.
func (a *alarm) writeAhead() (func() error, error) {
	pool := a.Pool("alert-ahead")
	a.Must(a.MakePool(pool, 20))
	move := func(by string) error {
		return stage.ExecAll(a.Base.Admin, `UPDATE pools SET at = at `+by+` interval '1 hour' WHERE id = '`+pool+`'`)
	}
	return func() error { return move("-") }, move("+")
}

// writeForeignCodes gives a prize codes under a key that no instance has, and none beyond
// its stock.
func (a *alarm) writeForeignCodes() (func() error, error) {
	pool := a.Pool("alert-codes")
	a.Must(a.MakePool(pool, 20))
	_, err := harness.Operate(a.Ctx, http.MethodPut, a.Instances[0].URL()+"/admin/pools/"+pool+"/rules", `{"low":[{"prize":"gold","below":5}]}`, http.StatusOK)
	a.Must(err)
	remove := func() error { return stage.ExecAll(a.Base.Admin, `DELETE FROM code_heads WHERE pool_id = '`+pool+`'`) }
	return remove, stage.ExecAll(a.Base.Admin,
		`INSERT INTO code_heads (pool_id, prize_id, places, sealed_under) SELECT pool_id, id, stocked, 'nobody' FROM prizes WHERE pool_id = '`+pool+`'`)
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

// changeRows takes an award out of a counter, in a pool of its own, and puts it
// back.
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

// refuseAwards is somebody's trigger that fails in a way that the service does
// not know.
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

// setReadOnly makes the database refuse writes, and has each instance hear of it.
func (a *alarm) setReadOnly() (func() error, error) {
	pool := a.Pool("alert-read-only")
	a.Must(a.MakePool(pool, 20))
	a.Must(stage.ExecAll(a.Base.Admin, `ALTER SYSTEM SET default_transaction_read_only = on`, `SELECT pg_reload_conf()`))
	time.Sleep(time.Second) // sessions hear of it soon
	for _, o := range a.asking(pool, len(a.Instances)) {
		if said := a.Send(a.Ctx, o); said.Code == "" {
			return nil, fmt.Errorf("it was drawn from a database that takes no writes: %s", &said)
		}
	}
	return func() error {
		return stage.ExecAll(a.Base.Admin, `ALTER SYSTEM RESET default_transaction_read_only`, `SELECT pg_reload_conf()`)
	}, nil
}

// emptyRedis lets holders of the lock in beside one another.
func (a *alarm) emptyRedis() (func() error, error) {
	return a.meanwhile(func(ctx context.Context) {
		_, _ = stage.RedisDo(ctx, a.LockServers[0].Addr(), "FLUSHALL") // the next one follows
		time.Sleep(5 * time.Millisecond)
	}), nil
}

// meanwhile does something again and again until end is called.
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

// waitingPools are drawn from while commits hang, more than there are
// connections.
const waitingPools = 12

// loseStandby has each commit wait for a standby that does not come.
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

// silence holds every byte to and from the database.
func (a *alarm) silence() (func() error, error) {
	a.each((*servertest.Proxy).Hold)
	return func() error { a.each((*servertest.Proxy).Pass); return nil }, nil
}
