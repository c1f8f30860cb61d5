package codes

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"hash"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// An import with a key has a row. The row contains the state of its running SHA-256. That
// state is sealed, because it contains the last codes of a part. The id of the seal key
// is written before it.

// stateName is the name under which that state is sealed.
func (i *importing) stateName() string {
	return "drawsvc code import v1\n" + i.PoolID + "\n" + i.PrizeID
}

// load reads the progress of the import under the key. A complete import is replayed. The
// progress of an import without a key is known only to this process. suffix may lock the
// row. Errors: CodeKeyReused for another file, CodeSealKeyMissing if the state cannot be
// unsealed.
func (i *importing) load(ctx context.Context, tx *sql.Tx, suffix string) (done draw.ImportedCodes, at importState, err error) {
	if i.Key == "" {
		return done, i.state, nil
	}
	at = i.begun()
	type row struct {
		file, result string
		state        []byte
		version      int64
		at           importState
	}
	query := i.register.ledger.SelectFrom("code_imports", "file", "read_lines", "added", "skipped", "digest", "version", "result").
		Where(squirrel.Eq{"pool_id": i.PoolID, "key_id": i.keyMark}).Suffix(suffix)
	found, err := ledger.SelectAll(ctx, tx, query, func(s engine.Scanner) (r row, err error) {
		err = s.Scan(&r.file, &r.at.lines, &r.at.added, &r.at.skipped, &r.state, &r.version, &r.result)
		return r, err
	})
	if err != nil || len(found) == 0 {
		return done, at, err
	}
	r := found[0]
	switch {
	case r.file != i.fileMark:
		return done, at, draw.Errorf(draw.CodeKeyReused, "the key %q was used for the import of other codes", i.Key)
	case r.version != 0:
		if err := json.Unmarshal([]byte(r.result), &done); err != nil {
			return done, at, draw.WrapInternal(err, "the record of the import under the key %q cannot be read", i.Key)
		}
		done.Seal.Salt, done.Replayed = i.salt, true
		r.at.list = at.list
		return done, r.at, nil
	}
	at = r.at
	at.list, err = i.openState(r.state)
	return done, at, err
}

// save writes the progress of the import. done is its result, nil before the end.
func (i *importing) save(ctx context.Context, tx *sql.Tx, isFirst bool, at *importState, done *draw.ImportedCodes) error {
	state, result := []byte{}, []byte{}
	version := int64(0)
	if done != nil {
		kept := *done
		kept.Seal.Salt = "" // it can be derived from the key
		var err error
		if result, err = json.Marshal(kept); err != nil {
			return err
		}
		version = done.Version
	} else {
		plain, err := marshal(at.list)
		if err != nil {
			return err
		}
		state = append([]byte(i.key.ID+"\n"), i.key.Seal(i.stateName(), plain)...)
	}
	ofKey := squirrel.Eq{"pool_id": i.PoolID, "key_id": i.keyMark}
	if !isFirst {
		update := i.register.ledger.Builder().Update("code_imports").Set("read_lines", at.lines).Set("added", at.added).Set("skipped", at.skipped).
			Set("digest", state).Set("version", version).Set("result", string(result)).Where(ofKey)
		_, err := update.RunWith(tx).ExecContext(ctx)
		return err
	}
	insert := i.register.ledger.InsertInto("code_imports").
		Columns("pool_id", "key_id", "file", "read_lines", "added", "skipped", "digest", "version", "result").
		Values(i.PoolID, i.keyMark, i.fileMark, at.lines, at.added, at.skipped, state, version, string(result))
	_, err := insert.RunWith(tx).ExecContext(ctx)
	return err
}

// openState unseals the state of a running SHA-256. Error: CodeSealKeyMissing.
func (i *importing) openState(state []byte) (hash.Hash, error) {
	before, sealed, _ := bytes.Cut(state, []byte("\n"))
	id := string(before)
	key := i.ring.Key(id)
	if key == nil {
		return nil, draw.Errorf(draw.CodeSealKeyMissing, "the import was begun under the seal key %q, which is not here", id)
	}
	plain, err := key.Open(i.stateName(), sealed)
	if err != nil {
		return nil, draw.Errorf(draw.CodeSealKeyMissing, "the import was begun under another seal key %q", id)
	}
	return unmarshal(plain)
}

// end records the change that seals the list, and moves the codes to the stock.
func (i *importing) end(ctx context.Context) (done draw.ImportedCodes, err error) {
	r := i.register
	err = r.ledger.Change(ctx, func(tx *sql.Tx) error {
		of, err := r.ledger.LockPool(ctx, tx, i.PoolID, i.Actor)
		if err != nil {
			return err
		}
		var at importState
		if done, at, err = i.load(ctx, tx, r.ledger.Engine.ForUpdate); err != nil || done.Replayed {
			return err
		}
		done = draw.ImportedCodes{Added: at.added, Skipped: at.skipped, Seal: draw.Seal{Salt: i.salt, SHA256: hex.EncodeToString(at.list.Sum(nil))}}
		if at.added > 0 {
			if err := i.move(ctx, tx, of, &done); err != nil {
				return err
			}
		}
		prize, err := r.ledger.Prize(ctx, tx, i.PoolID, i.PrizeID)
		if err != nil {
			return err
		}
		done.Places, done.Stocked, done.Version = prize.Places, prize.Stocked, of.Head.Version
		if i.Key == "" {
			return nil
		}
		return i.save(ctx, tx, false, &at, &done)
	})
	return done, err
}

// The bodies of two changes: one imports codes, and one drops codes.
type (
	importedBody struct {
		Prize  string `json:"prize"`
		Count  int64  `json:"count"`
		SHA256 string `json:"sha256"`
	}
	droppedBody struct {
		Prize   string `json:"prize"`
		Dropped int64  `json:"dropped"`
	}
)

// move records the list, and moves its codes to the stock.
func (i *importing) move(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool, done *draw.ImportedCodes) error {
	r := i.register
	if err := of.Pool.CheckNotClosed(); err != nil {
		return err
	}
	prize, err := r.ledger.Prize(ctx, tx, i.PoolID, i.PrizeID)
	if err != nil {
		return err
	}
	body := importedBody{i.PrizeID, done.Added, done.Seal.SHA256}
	if err := r.ledger.Record(ctx, tx, of, []ledger.NewChange{{What: draw.WhatCodes, Body: body}}); err != nil || i.Reserve {
		return err
	}
	if err := ledger.CheckDelta(prize, done.Added); err != nil {
		return err
	}
	return r.ledger.StockAll(ctx, tx, of, []ledger.Stocking{{Prize: prize, Delta: done.Added, Reason: draw.ReasonCodes}})
}
