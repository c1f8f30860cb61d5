package codes

import (
	"context"
	"database/sql"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/seal"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// Register stores the codes of a ledger's prizes. It is safe for concurrent use.
type Register struct {
	ledger *ledger.Ledger
	keys   *seal.Keeper
	log    *slog.Logger
	// opens is the result of the last check of the keys; nil before the first check.
	opens atomic.Pointer[opens]
	// pause waits between the parts of an import.
	pause func(ctx context.Context, d time.Duration)
}

// New returns the register of a ledger. If keys is nil, no code can be unsealed.
func New(l *ledger.Ledger, keys *seal.Keeper, log *slog.Logger) *Register {
	if keys == nil {
		keys = &seal.Keeper{}
	}
	return &Register{ledger: l, keys: keys, log: log, pause: pause}
}

// opens states which codes this instance can unseal.
type opens struct {
	// ring is the ring that was checked.
	ring *seal.Ring
	// away are the pools with codes that cannot be unsealed here.
	away map[string]bool
	// foreign are the ids of keys in the key file whose bytes differ from those that
	// sealed the rows.
	foreign map[string]bool
}

// proofName is the name under which proofs of keys are sealed, and proofText is the
// sealed text.
const (
	proofName = "drawsvc seal key v1"
	proofText = "drawsvc"
)

// isKey reports whether a key of the key file is the one under which a proof was sealed.
func isKey(k *seal.Key, proof []byte) bool {
	text, err := k.Open(proofName, proof)
	return err == nil && string(text) == proofText
}

const (
	// keysEvery is the interval at which the keys are checked against the database.
	// keysMax bounds one check.
	keysEvery = 5 * time.Second
	keysMax   = 5 * time.Second
)

// WatchKeys checks the keys every few seconds until the database is closed. Call it once,
// before others use the register.
func (r *Register) WatchKeys(ctx context.Context) error {
	if err := r.CheckKeys(ctx); err != nil {
		return err
	}
	r.ledger.Engine.WhileOpen(keysEvery, func(ctx context.Context) {
		bounded, end := context.WithTimeout(ctx, keysMax)
		defer end()
		_ = r.CheckKeys(bounded) // if the check fails, the last result remains
	})
	return nil
}

// ReplaceSealKeys replaces the keys in use.
func (r *Register) ReplaceSealKeys(ring *seal.Ring) { r.keys.Replace(ring) }

// CheckKeys unseals one row of each seal key, and finds the pools whose codes cannot be
// unsealed here. Errors: those of the store.
func (r *Register) CheckKeys(ctx context.Context) error {
	found := &opens{away: map[string]bool{}, foreign: map[string]bool{}}
	if r.ledger.Engine.Lacks(engine.PartCodes) {
		r.opens.Store(found)
		return nil
	}
	ring := r.keys.Ring()
	found.ring = ring
	err := r.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		clear(found.away)
		clear(found.foreign)
		proofs, err := r.readProofs(ctx, tx, "")
		if err != nil {
			return err
		}
		for _, k := range ring.Keys() {
			if proof, known := proofs[k.ID]; known && !isKey(k, proof) {
				found.foreign[k.ID] = true
			}
		}
		query := r.ledger.SelectFrom("code_heads", "pool_id", "sealed_under").GroupBy("pool_id", "sealed_under")
		_, err = ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (struct{}, error) {
			var pool, under string
			err := row.Scan(&pool, &under)
			if !found.opensAll(ring, strings.Fields(under)) {
				found.away[pool] = true
			}
			return struct{}{}, err
		})
		return err
	})
	if err != nil {
		return err
	}
	r.tell(r.opens.Swap(found), found)
	return nil
}

// opensAll reports whether there are keys, among them all keys with the given ids.
func (o *opens) opensAll(ring *seal.Ring, ids []string) bool {
	if ring.First() == nil {
		return false
	}
	for _, id := range ids {
		if ring.Key(id) == nil || o.foreign[id] {
			return false
		}
	}
	return true
}

// tell logs the differences between two checks.
func (r *Register) tell(before, after *opens) {
	if before == nil {
		before = &opens{}
	}
	for id := range after.foreign {
		if !before.foreign[id] {
			r.log.Error("a seal key has other bytes than the one of its id that codes are sealed with: it is not used", "key", id)
		}
	}
	switch {
	case len(after.away) > 0 && len(before.away) == 0:
		r.log.Error("codes do not open here: their pools are not drawn from by this instance", "pools", len(after.away))
	case len(after.away) == 0 && len(before.away) > 0:
		r.log.Info("all codes open again")
	}
}

// CodesAway returns the reason why codes of a pool cannot be handed out here, nil if they
// can. It sends no query. Error: CodeSealKeyMissing.
func (r *Register) CodesAway(poolID string) error {
	if r.keys.Ring().First() == nil {
		return draw.ErrorSealKeyMissing(poolID)
	}
	if o := r.opens.Load(); o != nil && o.away[poolID] {
		return draw.ErrorSealKeyMissing(poolID)
	}
	return nil
}

// HasCodesAway reports whether any pool has codes that cannot be handed out here.
func (r *Register) HasCodesAway() bool {
	o := r.opens.Load()
	return o != nil && len(o.away) > 0
}

// ReadCodesAway returns the pools whose codes cannot be unsealed with the keys, and the
// ids of keys whose bytes are not the stored ones. Errors: those of the store.
func (r *Register) ReadCodesAway(ctx context.Context) (pools, foreign []string, err error) {
	if err := r.CheckKeys(ctx); err != nil {
		return nil, nil, err
	}
	o := r.opens.Load()
	return sorted(o.away), sorted(o.foreign), nil
}

// readProofs returns the proofs of the seal keys that the database contains, by id.
// suffix may lock them.
func (r *Register) readProofs(ctx context.Context, q engine.Querier, suffix string) (map[string][]byte, error) {
	proofs := map[string][]byte{}
	query := r.ledger.SelectFrom("seal_keys", "key_id", "proof").OrderBy("key_id").Suffix(suffix)
	_, err := ledger.SelectAll(ctx, q, query, func(row engine.Scanner) (struct{}, error) {
		var id string
		var proof []byte
		err := row.Scan(&id, &proof)
		proofs[id] = proof
		return struct{}{}, err
	})
	return proofs, err
}

// SealingKey returns the key under which to seal. It ensures that the database contains
// the key's proof. Error: CodeSealKeyMissing if the key is absent, or has other bytes.
func (r *Register) SealingKey(ctx context.Context) (*seal.Key, error) {
	return r.sealingKey(ctx, r.keys.Ring())
}

// sealingKey is SealingKey for the keys of a ring.
func (r *Register) sealingKey(ctx context.Context, ring *seal.Ring) (*seal.Key, error) {
	key := ring.First()
	if key == nil {
		return nil, draw.Errorf(draw.CodeSealKeyMissing, "no seal key is configured here: name its file with --seal-keys")
	}
	err := r.ledger.Change(ctx, func(tx *sql.Tx) error {
		proofs, err := r.readProofs(ctx, tx, "")
		if err != nil {
			return err
		}
		if proof, known := proofs[key.ID]; known {
			return checkKey(key, proof)
		}
		insert := r.ledger.InsertInto("seal_keys").Columns("key_id", "proof").Values(key.ID, key.Seal(proofName, []byte(proofText)))
		if _, err = insert.RunWith(tx).ExecContext(ctx); r.ledger.IsDuplicate(err) {
			return engine.ErrConflict // another instance added it first, with the same bytes or others
		}
		return err
	})
	return key, err
}

func checkKey(key *seal.Key, proof []byte) error {
	if isKey(key, proof) {
		return nil
	}
	return draw.Errorf(draw.CodeSealKeyMissing, "the seal key %q has other bytes than the one that codes are sealed with", key.ID)
}

// lockWriters makes other writers of codes wait until the transaction ends, and checks
// that the database still contains the key's proof.
func (r *Register) lockWriters(ctx context.Context, tx *sql.Tx, key *seal.Key) error {
	proofs, err := r.readProofs(ctx, tx, r.ledger.Engine.ForUpdate)
	if err != nil {
		return err
	}
	proof, known := proofs[key.ID]
	if !known {
		return draw.Errorf(draw.CodeContended, "the seal key %q was removed meanwhile; nothing happened", key.ID)
	}
	return checkKey(key, proof)
}

// codeName is the name under which the codes of a prize are sealed.
func codeName(poolID, prizeID string) string { return "drawsvc code v1\n" + poolID + "\n" + prizeID }

// head is the row that numbers the places of a prize.
type head struct {
	places int64
	under  []string
}

// lockHead locks the head of a prize until the transaction ends.
func (r *Register) lockHead(ctx context.Context, tx *sql.Tx, poolID, prizeID string) (h head, err error) {
	var under string
	query := r.ledger.SelectFrom("code_heads", "places", "sealed_under").Where(ofPrize(poolID, prizeID)).Suffix(r.ledger.Engine.ForUpdate)
	err = query.RunWith(tx).QueryRowContext(ctx).Scan(&h.places, &under)
	h.under = strings.Fields(under)
	return h, err
}

// setHead writes the head of a prize.
func (r *Register) setHead(ctx context.Context, tx *sql.Tx, poolID, prizeID string, h head) error {
	update := r.ledger.Builder().Update("code_heads").Set("places", h.places).Set("sealed_under", strings.Join(h.under, " ")).
		Where(ofPrize(poolID, prizeID))
	_, err := update.RunWith(tx).ExecContext(ctx)
	return err
}

// codedPrize reads a prize that must have codes. Errors: CodePrizeNotFound,
// CodeInvalidRequest for a blank, CodePrizeHasNoCodes.
func (r *Register) codedPrize(ctx context.Context, tx *sql.Tx, poolID, prizeID string) (draw.Prize, error) {
	p, err := r.ledger.Prize(ctx, tx, poolID, prizeID)
	switch {
	case err != nil:
		return p, err
	case !p.IsWin():
		return p, draw.Errorf(draw.CodeInvalidRequest, "prize %q is a blank, and blanks have no codes", prizeID)
	case !p.HasCodes:
		return p, draw.Errorf(draw.CodePrizeHasNoCodes, "prize %q was made without codes", prizeID)
	}
	return p, nil
}
