package hooks

import (
	"context"
	"database/sql"
	"encoding/binary"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/hook"
	"drawsvc/internal/seal"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// secretName is the name under which a secret of a hook is sealed.
func secretName(hookID string) string { return "drawsvc hook v1\n" + hookID }

// open returns the hook with its secrets. Error: CodeSealKeyMissing.
func (h *Hooks) open(r *row) (hook.Hook, error) {
	opened := r.Hook
	var err error
	if opened.Secret, err = h.openOne(r.ID, r.keyID, r.secret); err != nil {
		return opened, err
	}
	if r.formerKey == "" {
		return opened, nil
	}
	former, err := h.openOne(r.ID, r.formerKey, r.former)
	opened.Former = readFormer(former, r.FormerUntil)
	return opened, err
}

// openKnown is like open, but leaves out secrets whose key is lost, because nobody can
// sign with them.
func (h *Hooks) openKnown(r *row) hook.Hook {
	known := r.Hook
	known.Secret, _ = h.openOne(r.ID, r.keyID, r.secret)
	if r.formerKey == "" {
		return known
	}
	if former, err := h.openOne(r.ID, r.formerKey, r.former); err == nil {
		known.Former = readFormer(former, r.FormerUntil)
	}
	return known
}

// formerLength is the length of a former secret with its time, in bytes. The time of the
// latest former secret is in a column instead.
const formerLength = hook.SecretLength + 8

// joinFormer returns former secrets in the form in which they are sealed: the latest
// secret, and then each other secret, preceded by its time.
func joinFormer(all []hook.Former) (b []byte) {
	for i, f := range all {
		if i > 0 {
			b = binary.BigEndian.AppendUint64(b, uint64(f.Until.UnixMicro())) //nolint:gosec // read back as it was
		}
		b = append(b, f.Secret...)
	}
	return b
}

// readFormer reads what joinFormer wrote. until is the time of the latest one.
func readFormer(b []byte, until time.Time) (all []hook.Former) {
	for len(b) >= hook.SecretLength {
		all, b = append(all, hook.Former{Secret: b[:hook.SecretLength], Until: until}), b[hook.SecretLength:]
		if len(b) < formerLength {
			break
		}
		until, b = time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC(), b[8:] //nolint:gosec // as it was written
	}
	return all
}

func (h *Hooks) openOne(hookID, keyID string, sealed []byte) ([]byte, error) {
	if key := h.keys.Ring().Key(keyID); key != nil {
		if secret, err := key.Open(secretName(hookID), sealed); err == nil {
			return secret, nil
		}
	}
	return nil, draw.Errorf(draw.CodeSealKeyMissing, "the secret of hook %q is sealed under the key %q, which this instance does not have", hookID, keyID)
}

// OpenHook returns a hook with its secrets. Errors: CodeHookNotFound, CodeSealKeyMissing,
// and those of the store.
func (h *Hooks) OpenHook(ctx context.Context, id string) (opened hook.Hook, err error) {
	err = h.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		r, err := h.readOne(ctx, tx, id, "")
		if err == nil {
			opened, err = h.open(&r)
		}
		return err
	})
	return opened, err
}

// RotateHook gives a hook a new secret, which it returns; messages are also signed with
// each of the last [hook.FormerMax] secrets for [hook.RotationMax]. Errors: CodeHookNotFound,
// CodeSealKeyMissing, and those of the store.
func (h *Hooks) RotateHook(ctx context.Context, id string) (rotated hook.Hook, err error) {
	key, err := h.sealing(ctx)
	if err != nil {
		return rotated, err
	}
	err = h.ledger.Change(ctx, func(tx *sql.Tx) error {
		r, err := h.readOne(ctx, tx, id, h.ledger.Engine.ForUpdate)
		if err != nil {
			return err
		}
		now, err := h.ledger.DatabaseTime(ctx, tx)
		if err != nil {
			return err
		}
		rotated = h.openKnown(&r).Rotated(now)
		update := h.sealSecrets(key, &rotated).Set("former_until", h.ledger.Engine.Time(rotated.FormerUntil))
		return ledger.ExecOne(ctx, tx, update.Where(squirrel.Eq{"id": id}))
	})
	return rotated, err
}

// sealSecrets returns the update that stores the secrets of a hook under a key.
func (h *Hooks) sealSecrets(key *seal.Key, of *hook.Hook) squirrel.UpdateBuilder {
	update := h.ledger.Builder().Update("hooks").Set("key_id", key.ID).Set("secret", key.Seal(secretName(of.ID), of.Secret))
	if of.Former == nil {
		return update.Set("former_key", "").Set("former", []byte{})
	}
	return update.Set("former_key", key.ID).Set("former", key.Seal(secretName(of.ID), joinFormer(of.Former)))
}

// ResealHooks seals all secrets under the first key of the file. Errors:
// CodeSealKeyMissing, and those of the store.
func (h *Hooks) ResealHooks(ctx context.Context) error {
	if h.ledger.Engine.Lacks(engine.PartHooks) {
		return nil
	}
	key, err := h.sealing(ctx)
	if err != nil {
		return err
	}
	return h.ledger.Change(ctx, func(tx *sql.Tx) error {
		all, err := h.read(ctx, tx, nil, h.ledger.Engine.ForUpdate)
		if err != nil {
			return err
		}
		for i := range all {
			if err := h.resealOne(ctx, tx, key, &all[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (h *Hooks) resealOne(ctx context.Context, tx *sql.Tx, key *seal.Key, r *row) error {
	if r.keyID == key.ID && (r.formerKey == "" || r.formerKey == key.ID) {
		return nil
	}
	opened, err := h.open(r)
	if err != nil {
		return err
	}
	return ledger.ExecOne(ctx, tx, h.sealSecrets(key, &opened).Where(squirrel.Eq{"id": r.ID}))
}

// HooksAway returns the hooks whose secrets cannot be unsealed with the keys. Errors:
// those of the store.
func (h *Hooks) HooksAway(ctx context.Context) (away []string, err error) {
	if h.ledger.Engine.Lacks(engine.PartHooks) {
		return nil, nil
	}
	err = h.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		away = nil
		all, err := h.read(ctx, tx, nil, "")
		for i := range all {
			if _, err := h.open(&all[i]); err != nil {
				away = append(away, all[i].ID)
			}
		}
		return err
	})
	return away, err
}

// formerUntil returns until when messages are also signed with the former secret of a
// hook, the zero time if they are not.
func (r *row) formerUntil(now time.Time) time.Time {
	if r.FormerUntil.After(now) && !r.FormerUntil.Equal(engine.Epoch(time.Time{})) {
		return r.FormerUntil
	}
	return time.Time{}
}
