package steps

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/ledger"
)

const (
	// partMax is the maximum number of steps of a file that one transaction writes.
	partMax = 1000
	// linesMax is the maximum number of refused lines that an error names.
	linesMax = 10
)

// StepAll checks all lines of a file, and then writes their steps in parts. An award that
// is already in the state to which its step leads is left unchanged. Errors:
// CodeInvalidRequest, which names the first refused lines: then nothing was written. If
// an award changes while the file is written, StepAll stops there and returns the refusal
// with [draw.RefusedLine]. Further errors: CodePoolNotFound, and those of the store.
func (b *Book) StepAll(ctx context.Context, poolID string, all []draw.WantedStep, actor string, dryRun bool) (done draw.SteppedFile, err error) {
	done = draw.SteppedFile{Lines: len(all), DryRun: dryRun}
	if err := draw.CheckActor(actor); err != nil {
		return done, err
	}
	checked, err := b.checkFile(ctx, poolID, all, actor)
	if err != nil {
		return done, err
	}
	if dryRun {
		return checked, nil
	}
	for part := range slices.Chunk(all, partMax) {
		w, err := b.writePart(ctx, poolID, part, actor)
		if err != nil {
			return done, endedAt(err, done.Written)
		}
		w.done()
		done.Written += len(w.made)
		done.Unchanged += len(part) - len(w.made)
	}
	return done, nil
}

// lineError is the refusal of a line.
type lineError struct {
	line int
	err  error
}

// Error implements error.
func (e *lineError) Error() string { return e.err.Error() }

// Unwrap returns the refusal.
func (e *lineError) Unwrap() error { return e.err }

// endedAt adds, to the error of a part, the line and the number of steps that were
// written before.
func endedAt(err error, written int) error {
	e, isNamed := errors.AsType[*draw.Error](err)
	if !isNamed {
		return err
	}
	at, line := *e, 0
	if of, isOfLine := errors.AsType[*lineError](e.Err); isOfLine {
		line = of.line
	}
	if line == 0 && written == 0 {
		return err
	}
	at.Line = &draw.RefusedLine{Line: line, Written: written}
	return &at
}

// writePart writes a part of a file.
func (b *Book) writePart(ctx context.Context, poolID string, part []draw.WantedStep, actor string) (w *writing, err error) {
	err = b.ledger.Change(ctx, func(tx *sql.Tx) error {
		if w, err = b.begin(ctx, tx, poolID, actor, versionsOf(part), slices.ContainsFunc(part, isOfPool)); err != nil {
			return err
		}
		for i := range part {
			if _, _, err := w.step(ctx, &part[i]); err != nil {
				return ofLine(part[i].Line, err)
			}
		}
		return w.end(ctx)
	})
	return w, err
}

// ofLine adds the number of the file's line to a refusal.
func ofLine(line int, err error) error {
	e, isNamed := errors.AsType[*draw.Error](err)
	if !isNamed {
		return err
	}
	at := *e
	at.Err = &lineError{line, e}
	return &at
}

func isOfPool(s draw.WantedStep) bool { return needsPool(&s) }

func versionsOf(all []draw.WantedStep) []int64 {
	versions := make([]int64, len(all))
	for i := range all {
		versions[i] = all[i].Award
	}
	return versions
}

// checkFile decides all steps of a file in one snapshot, without writing any.
func (b *Book) checkFile(ctx context.Context, poolID string, all []draw.WantedStep, actor string) (done draw.SteppedFile, err error) {
	err = b.ledger.SnapshotOn(ctx, b.ledger.Engine.ReadBack, func(tx *sql.Tx) error {
		done = draw.SteppedFile{Lines: len(all), DryRun: true}
		if err := b.checkSchema(); err != nil {
			return err
		}
		w := &writing{book: b, tx: tx, poolID: poolID, actor: actor, reserves: map[string]int64{}}
		if err := w.readPool(ctx, slices.ContainsFunc(all, isOfPool)); err != nil {
			return err
		}
		var refusals []string
		found := 0
		for part := range slices.Chunk(all, partMax) {
			if err := w.readPart(ctx, versionsOf(part)); err != nil {
				return err
			}
			for i := range part {
				_, isThere, err := w.step(ctx, &part[i])
				switch {
				case err != nil && isRefusal(err):
					if found++; len(refusals) < linesMax {
						refusals = append(refusals, fmt.Sprintf("line %d: %s", part[i].Line, draw.DetailOf(err)))
					}
				case err != nil:
					return err
				case isThere:
					done.Unchanged++
				default:
					done.Written++
				}
			}
		}
		if found > len(refusals) {
			refusals = append(refusals, fmt.Sprintf("and %d more", found-len(refusals)))
		}
		if found > 0 {
			return draw.Errorf(draw.CodeInvalidRequest, "%s", strings.Join(refusals, "; "))
		}
		return nil
	})
	return done, err
}

// isRefusal reports whether an error is the refusal of one step.
func isRefusal(err error) bool {
	return slices.Contains([]draw.Code{
		draw.CodeAwardNotFound, draw.CodeClaimExpired, draw.CodeNothingToClaim, draw.CodeAwardEnded, draw.CodeAwardNotFulfilled, draw.CodeCodeShown,
		draw.CodeCodeNotOpen, draw.CodeCodesMissing, draw.CodePrizeHasNoCodes, draw.CodePoolClosed, draw.CodePoolOpen, draw.CodeChangedMeanwhile,
	}, draw.CodeOf(err))
}

// readPool reads, without a lock, the pool's data for steps that move stock.
func (w *writing) readPool(ctx context.Context, isWhole bool) (err error) {
	if err := w.book.ledger.FindByKey(ctx, w.tx); err != nil {
		return err
	}
	if w.at, err = w.book.ledger.DatabaseTime(ctx, w.tx); err != nil || !isWhole {
		return err
	}
	of, err := w.book.ledger.ReadRow(ctx, w.tx, w.poolID, w.actor)
	if err != nil {
		return err
	}
	w.closed = of.Pool.State == draw.StateClosed
	w.guarded, err = w.book.isGuarded(ctx, w.tx, of)
	return err
}

// isGuarded reports whether the stock of a pool cannot be moved, because the pool has a
// beacon and is open.
func (b *Book) isGuarded(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool) (bool, error) {
	if of.Pool.State == draw.StateClosed {
		return false, nil
	}
	_, err := b.ledger.Guard.MayChange(ctx, tx, of, ledger.MovesStock)
	if draw.CodeOf(err) == draw.CodePoolOpen {
		return true, nil
	}
	return false, err
}

// readPart reads the lives of awards without a lock.
func (w *writing) readPart(ctx context.Context, versions []int64) (err error) {
	if w.lives, w.eras, err = w.book.readAwards(ctx, w.tx, w.poolID, versions); err != nil {
		return err
	}
	return w.book.addSteps(ctx, w.tx, w.poolID, w.lives)
}
