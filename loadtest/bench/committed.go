package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"

	"filippo.io/age"

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
		{http.MethodPost, "/commitment", `{}`, http.StatusCreated},
		{http.MethodPatch, "", `{"state":"open"}`, http.StatusOK},
	} {
		if _, err := harness.Operate(ctx, call.method, i.URL+"/admin/pools/"+pool+call.path, call.body, call.status); err != nil {
			return err
		}
	}
	return nil
}
