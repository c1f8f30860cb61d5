package lockertest

import (
	"errors"
	"fmt"
	"time"

	"drawsvc/internal/stock"
)

// killedHolder: after its holder was killed, a lock is free within its term. It is free
// at once if the server detects that the connection is closed.
func killedHolder(b *bench) error {
	first, err := b.processes[0].hold(0, b.key, patience)
	if err != nil {
		return err
	}
	next := b.processes[1].ask(0, b.key, patience)
	time.Sleep(b.TTL / 2) // so that the lease is renewed at least once
	killed := time.Now()
	b.processes[0].kill()
	if err := within(b.ctx, b.Grip+slack, next.heldC, "the next holder after a kill"); err != nil {
		return err
	}
	b.result.KilledFree = milliseconds(next.at.Sub(killed))
	if next.token <= first.token {
		return fmt.Errorf("token %d came after %d", next.token, first.token)
	}
	if err := next.release(); err != nil {
		return err
	}
	return b.restart(0)
}

// pausedHolder: a process that is paused for longer than its lease loses the lock, and
// another process gets it and draws. When the first process resumes, it is notified, and
// its write is rejected. Its release does not free the lock of the new holder.
func pausedHolder(b *bench) error {
	before, err := b.vault.issued(b.ctx)
	if err != nil {
		return err
	}
	first, err := b.processes[0].hold(0, b.key, patience)
	if err != nil {
		return err
	}
	// The pause begins at once, before a renewal. During a write to a file, it would block
	// all other processes.
	stopped := time.Now()
	b.processes[0].stop()
	defer b.processes[0].cont()
	if err := b.vault.write(b.ctx, b.key, first.token); err != nil {
		return fmt.Errorf("the first holder's write: %w", err)
	}
	next := b.processes[1].ask(0, b.key, patience)
	if err := within(b.ctx, b.Term+slack, next.heldC, "the next holder after a pause"); err != nil {
		return err
	}
	b.result.PausedFree = milliseconds(next.at.Sub(stopped))
	if err := b.vault.write(b.ctx, b.key, next.token); err != nil {
		return fmt.Errorf("the next holder's write: %w", err)
	}
	b.processes[0].cont()
	if err := within(b.ctx, slack, first.lostC, "the first holder is notified"); err != nil {
		return err
	}
	if err := b.vault.write(b.ctx, b.key, first.token); !errors.Is(err, stock.ErrStaleToken) {
		return fmt.Errorf("the first holder's write was not refused: %w", orNil(err))
	}
	if err := first.release(); err != nil {
		return err
	}
	third := b.processes[2].ask(0, b.key, 0)
	if err := within(b.ctx, 2*slack, third.doneC, "an attempt behind the second holder"); err != nil {
		return fmt.Errorf("the first holder's release freed the second's lock: %w", err)
	}
	if third.done.Code != "contended" {
		return fmt.Errorf("an attempt behind the second holder: wanted contended, got %q", third.done.Code)
	}
	if err := next.release(); err != nil {
		return err
	}
	b.result.StaleRejected = true
	return b.vault.audit(b.ctx, before+2)
}

// milliseconds returns a rounded duration for a table.
func milliseconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond)
}
