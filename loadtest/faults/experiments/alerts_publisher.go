package experiments

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

type publisher struct {
	folder, address string
	process         *os.Process
}

func startPublisher(t *trial) publisher {
	p := publisher{folder: t.Site.TempDir(), address: servertest.FreeAddr(t.Site)}
	cmd := exec.CommandContext(t.Ctx, filepath.Join(stage.Bin, stage.Released), "publish", "--dir", p.folder, "--every", "100ms",
		"--metrics-listen", p.address, "--seed-identity-file", stage.SeedIdentity, "--database", t.Base.URL)
	t.Must(cmd.Start())
	p.process = cmd.Process
	t.Site.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the kill is intended
	})
	return p
}

// commit creates a committed pool, and waits until the publisher has signed its log.
func (a *alarm) commit(pool string) error {
	a.Must(a.MakePool(pool, 20))
	_, err := harness.Operate(a.Ctx, http.MethodPatch, a.Instances[0].URL()+"/admin/pools/"+pool, `{"state":"paused"}`, http.StatusOK)
	a.Must(err)
	_, err = stage.Command(a.Ctx, stage.Released, "pool", "commit", pool, "--origin", "draws.example.org",
		"--seed-recipients", stage.SeedRecipients, "--database", a.Base.URL)
	a.Must(err)
	signed := filepath.Join(a.publisher.folder, pool, "checkpoint")
	for until := time.Now().Add(firesMax); ; time.Sleep(50 * time.Millisecond) {
		_, err := os.Stat(signed)
		if err == nil {
			return nil
		}
		if !errors.Is(err, os.ErrNotExist) || time.Now().After(until) {
			return fmt.Errorf("the publisher signs nothing: %w", err)
		}
	}
}

// editSigned changes a row of the log of a committed pool by SQL after it was signed. Its
// end restores the row.
func (a *alarm) editSigned() (func() error, error) {
	pool := a.Pool("alert-signed")
	a.Must(a.commit(pool))
	reason := func(is string) error {
		return stage.ExecAll(a.Base.Admin, `UPDATE moves SET reason = '`+is+`' WHERE pool_id = '`+pool+`'`)
	}
	return func() error { return reason("created") }, reason("edited")
}

// haltPublisher pauses the publisher, and adds to the log of a pool that it follows.
func (a *alarm) haltPublisher() (func() error, error) {
	pool := a.Pool("alert-unsigned")
	a.Must(a.commit(pool))
	stocked := func() error {
		_, err := harness.Operate(a.Ctx, http.MethodPost, a.Instances[0].URL()+"/admin/pools/"+pool+"/prizes/gold/stock", `{"delta":1,"reason":"test"}`, http.StatusOK)
		return err
	}
	a.Must(stocked())
	const followed = `SELECT count(*) FROM checkpoints AS k JOIN commitments AS c ON c.pool_id = k.pool_id WHERE k.size > c.version AND k.pool_id = '`
	for until := time.Now().Add(firesMax); ; time.Sleep(50 * time.Millisecond) {
		n, err := a.Base.Count(a.Ctx, followed+pool+`'`)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			break
		}
		if time.Now().After(until) {
			return nil, errors.New("the publisher signs nothing after the commitment")
		}
	}
	a.Must(a.publisher.process.Signal(syscall.SIGSTOP))
	return func() error { return a.publisher.process.Signal(syscall.SIGCONT) }, stocked()
}
