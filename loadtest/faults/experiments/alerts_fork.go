package experiments

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// publisher signs the logs of committed pools beside the instances.
type publisher struct {
	folder, address string
}

// startPublisher starts the publisher of the trial's database.
func startPublisher(t *trial) publisher {
	p := publisher{t.Site.TempDir(), servertest.FreeAddr(t.Site)}
	cmd := exec.CommandContext(t.Ctx, filepath.Join(stage.Bin, stage.Released), "publish", "--dir", p.folder, "--every", "100ms",
		"--metrics-listen", p.address, "--seed-identity-file", seedIdentity, "--database", t.Base.URL)
	t.Must(cmd.Start())
	t.Site.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed, as it was meant
	})
	return p
}

// editSigned commits a pool, and changes a row of its log by hand once that is
// signed. Its end puts the row right.
func (a *alarm) editSigned() (func() error, error) {
	pool := a.Pool("alert-signed")
	a.Must(a.MakePool(pool, 20))
	_, err := harness.Operate(a.Ctx, http.MethodPatch, a.Instances[0].URL()+"/admin/pools/"+pool, `{"state":"paused"}`, http.StatusOK)
	a.Must(err)
	_, err = stage.Command(a.Ctx, stage.Released, "pool", "commit", pool, "--origin", "draws.example.org",
		"--seed-recipients", seedRecipients, "--database", a.Base.URL)
	a.Must(err)
	signed := filepath.Join(a.publisher.folder, pool, "checkpoint")
	for until := time.Now().Add(firesMax); ; time.Sleep(50 * time.Millisecond) {
		_, err := os.Stat(signed)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrNotExist) || time.Now().After(until) {
			return nil, fmt.Errorf("the publisher signs nothing: %w", err)
		}
	}
	reason := func(is string) error {
		return stage.ExecAll(a.Base.Admin, `UPDATE moves SET reason = '`+is+`' WHERE pool_id = '`+pool+`'`)
	}
	return func() error { return reason("created") }, reason("edited")
}
