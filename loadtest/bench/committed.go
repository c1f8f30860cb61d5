package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"filippo.io/age"

	"drawsvc/internal/proof"
	"drawsvc/loadtest/harness"
)

// makeSeedFlags makes the flags of services whose pools are committed to their
// numbers: the files of a recipient and of its identity, the same for a whole run,
// because a pool may be made by one process and drawn from by another.
func (b *benchmark) makeSeedFlags() error {
	if b.seedFlags != nil {
		return nil
	}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return err
	}
	folder := b.whole.TempDir()
	for _, f := range []struct{ flag, text string }{
		{"seed-identity-file", identity.String()}, {"seed-recipients", identity.Recipient().String()},
	} {
		path := filepath.Join(folder, f.flag)
		if err := os.WriteFile(path, []byte(f.text+"\n"), 0o600); err != nil {
			return err
		}
		b.seedFlags = append(b.seedFlags, "--"+f.flag, path)
	}
	return nil
}

// commitPool commits a candidate's pool, where it is to be.
func commitPool(ctx context.Context, c candidate, i *harness.Process, pool string) error {
	if !c.committed {
		return nil
	}
	for _, call := range []struct {
		method, path, body string
		status             int
	}{
		{http.MethodPatch, "", `{"state":"paused"}`, http.StatusOK},
		{http.MethodPost, "/commitment", fmt.Sprintf(`{"receipts":%t}`, c.receipts), http.StatusCreated},
		{http.MethodPatch, "", `{"state":"open"}`, http.StatusOK},
	} {
		if _, err := harness.Operate(ctx, call.method, i.URL+"/admin/pools/"+pool+call.path, call.body, call.status); err != nil {
			return err
		}
	}
	return nil
}

// publisher is a process that publishes a candidate's pool live, beside the service
// and on the same machine.
type publisher struct {
	process *harness.Process
	dir     string
}

// publish starts the publisher of a candidate, nil where it has none.
func (b *benchmark) publish(s *harness.Site, c candidate, database string) (*publisher, error) {
	if !c.published {
		return nil, nil //nolint:nilnil // there is none
	}
	dir := s.TempDir()
	args := append([]string{"publish", "--database", database, "--dir", dir, "--publish-entries", "live"}, b.seedFlags[:2]...)
	process, err := harness.Start(nil, nil, b.program(c), args...)
	if err != nil {
		return nil, err
	}
	s.Cleanup(process.Kill)
	return &publisher{process, filepath.Join(dir, poolOf(c))}, nil
}

// follows reports whether the publisher runs, and has signed at least a quarter of what
// was drawn in the measured seconds: one that falls behind costs less than it has to.
func (p *publisher) follows(f figures, seconds int) error {
	if p == nil {
		return nil
	}
	if ended, err := p.process.Ended(); ended {
		return fmt.Errorf("the publisher ended: %w\n%s", err, p.process.Output)
	}
	checkpoint, err := os.ReadFile(filepath.Join(p.dir, "checkpoint"))
	if err != nil {
		return err
	}
	c, err := proof.ReadCheckpoint(checkpoint)
	if drawn := f[perSecond] * float64(seconds); err == nil && float64(c.Size) < drawn/4 {
		err = fmt.Errorf("the publisher has signed %d entries, and %.0f draws were made in the measurement alone", c.Size, drawn)
	}
	return err
}
