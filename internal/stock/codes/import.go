package codes

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/fault"
	"drawsvc/internal/seal"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

const (
	// partMax is the maximum number of codes that one transaction writes.
	partMax = 5000
	// saltLength is the length of a list's salt, in bytes.
	saltLength = 16
)

// importing is an import of a file that is in progress.
type importing struct {
	register *Register
	draw.CodeImport
	// ring are the keys that open the progress of an import, and under which codes are
	// searched. key is the first of them, which seals.
	ring *seal.Ring
	key  *seal.Key
	// keyMark and fileMark are the marks of the key and of the file, which the database
	// stores.
	keyMark, fileMark string
	// file is the imported file. salt is the salt of its seal.
	file *codeFile
	salt string
	// state is the progress of the import.
	state importState
	// isDoubtful means that another import has written codes of the file since the file
	// was checked.
	isDoubtful bool
	rests      rests
}

// importState is the progress of an import: how many lines were read, added and skipped.
// list is the running SHA-256 of the lines that were added.
type importState struct {
	lines, added, skipped int64
	list                  hash.Hash
}

// ImportCodes imports the codes of a file to the reserve of a prize. Unless the request
// keeps them there, it then moves them to the stock. The whole file is checked before
// anything is written. It is written in parts. Each part is a transaction that locks
// neither the pool's row nor the prize's. If the import is interrupted, the parts that
// were written stay in the reserve. progress, if it is not nil, is called with the number
// of lines that are written.
//
// Errors: CodeInvalidRequest, which names the first bad lines, CodePoolNotFound,
// CodePrizeNotFound, CodePrizeHasNoCodes, CodePoolClosed, CodePoolOpen, CodeKeyReused,
// CodeSealKeyMissing, those of the reader, and those of the store.
func (r *Register) ImportCodes(ctx context.Context, w draw.CodeImport, file io.Reader, progress func(done, total int)) (draw.ImportedCodes, error) {
	if err := w.Check(); err != nil {
		return draw.ImportedCodes{}, err
	}
	read, err := readFile(file, w.Skip)
	if err != nil {
		return draw.ImportedCodes{}, err
	}
	i := &importing{register: r, CodeImport: w, ring: r.keys.Ring(), file: read}
	i.salt = i.newSalt()
	i.state = i.begun()
	if i.Key != "" {
		i.keyMark, i.fileMark = i.mark()
	}
	before, err := i.begin(ctx)
	if err != nil || before.Replayed {
		return before, err
	}
	i.ring = r.keys.Ring() // begin may have waited
	if i.key, err = r.sealingKey(ctx, i.ring); err != nil {
		return draw.ImportedCodes{}, err
	}
	i.rests.begin(ctx, r)
	duplicates, err := i.check(ctx)
	for draw.CodeOf(err) == draw.CodeInvalidRequest && w.Key != "" {
		// Codes that exist may come from another request with the same key.
		checked := i.state.lines
		var failed error
		if before, failed = i.begin(ctx); failed != nil || before.Replayed {
			return before, failed
		}
		if i.state.lines == checked {
			break
		}
		duplicates, err = i.check(ctx)
	}
	if err != nil {
		return draw.ImportedCodes{}, err
	}
	if w.DryRun {
		return i.foresee(before, duplicates), nil
	}
	if err := i.writeAll(ctx, progress); err != nil {
		return draw.ImportedCodes{}, err
	}
	fault.At(fault.BeforeCodesMove)
	done, err := i.end(ctx)
	if err == nil && !done.Replayed {
		r.ledger.Changed(w.PoolID)
	}
	return done, err
}

// writeAll writes the codes to the reserve, part by part.
func (i *importing) writeAll(ctx context.Context, progress func(done, total int)) error {
	total := len(i.file.lines)
	for i.state.lines < int64(total) {
		begun := time.Now()
		if err := i.writePart(ctx); err != nil {
			return err
		}
		fault.At(fault.AfterCodesPart)
		if progress != nil {
			progress(int(i.state.lines), total)
		}
		i.rests.rest(ctx, time.Since(begun), total-int(i.state.lines))
	}
	return nil
}

// newSalt returns a random salt without a key. Otherwise it derives the salt from the
// key, so that a replay returns the same salt.
func (i *importing) newSalt() string {
	salt := make([]byte, saltLength)
	if i.Key == "" {
		_, _ = rand.Read(salt) // never fails
	} else {
		copy(salt, i.digest("drawsvc codes salt v1"))
	}
	return hex.EncodeToString(salt)
}

// digest returns a digest, under the import's key, of a label, the pool, the prize and
// some lines. of is the label.
func (i *importing) digest(of string, lines ...line) []byte {
	sum := hmac.New(sha256.New, []byte(i.Key))
	_, _ = fmt.Fprintf(sum, "%s\n%s\n%s\n", of, i.PoolID, i.PrizeID) // a hash accepts all texts
	for n := range lines {
		_, _ = sum.Write(i.file.code(&lines[n]))
		_, _ = sum.Write([]byte{'\n'})
	}
	return sum.Sum(nil)
}

// mark returns the marks that the database stores: that of the key, and that of the
// request under the key.
func (i *importing) mark() (key, file string) {
	of := sha256.Sum256([]byte(i.Key))
	wanted := i.digest(fmt.Sprintf("drawsvc codes file v1\nreserve %t\nskip %t", i.Reserve, i.Skip), i.file.lines...)
	return hex.EncodeToString(of[:]), hex.EncodeToString(wanted)
}

// begin checks that codes may be added to the prize, and reads the progress of an import
// under the same key. If that import is complete, it is replayed.
func (i *importing) begin(ctx context.Context) (done draw.ImportedCodes, err error) {
	r := i.register
	err = r.ledger.Change(ctx, func(tx *sql.Tx) error {
		done = draw.ImportedCodes{}
		of, err := r.ledger.LockPool(ctx, tx, i.PoolID, i.Actor)
		if err != nil {
			return err
		}
		prize, err := r.codedPrize(ctx, tx, i.PoolID, i.PrizeID)
		if err != nil {
			return err
		}
		if done, i.state, err = i.load(ctx, tx, ""); err != nil || done.Replayed {
			return err
		}
		done.Places, done.Stocked, done.Version = prize.Places, prize.Stocked, of.Head.Version
		if err := of.Pool.CheckNotClosed(); err != nil || i.Reserve {
			return err
		}
		return r.ledger.CheckStock(ctx, tx, of)
	})
	return done, err
}

// check finds duplicates among the lines that are not written yet. If they are skipped,
// it returns their number. Otherwise they are bad lines.
func (i *importing) check(ctx context.Context) (duplicates int64, err error) {
	var bad badLines
	//double:repeats-imports i.file.lines[i.state.lines:] => i.file.lines
	unwritten := i.file.lines[i.state.lines:]
	left := len(unwritten)
	if !i.DryRun {
		left *= 2 // each line is checked, and then written
	}
	for part := range slices.Chunk(unwritten, partMax) {
		begun := time.Now()
		err := i.register.ledger.SnapshotOn(ctx, i.register.ledger.Engine.ReadBack, func(tx *sql.Tx) error {
			found, err := i.owners(ctx, tx, part)
			for n, owner := range found {
				if owner != "" || part[n].repeats != 0 {
					duplicates++
				}
				if owner != "" && part[n].repeats == 0 {
					bad.add(part[n].number, owner)
				}
			}
			return err
		})
		if err != nil {
			return 0, err
		}
		left -= len(part)
		i.rests.rest(ctx, time.Since(begun), left)
	}
	if i.Skip {
		return duplicates, nil
	}
	return 0, bad.err()
}

// lookUpMax is the maximum number of digests in one statement.
const lookUpMax = 1000

// owners returns the prize that has the code of each line of a part, "" if none has it.
// It searches under each key of the key file, because rows may be sealed under several
// keys while keys are replaced.
func (i *importing) owners(ctx context.Context, tx *sql.Tx, part []line) ([]string, error) {
	owners := make([]string, len(part))
	for _, key := range i.ring.Keys() {
		at := make(map[[seal.DigestLength]byte]int, len(part))
		digests := make([][]byte, 0, len(part))
		for n := range part {
			digest := key.Digest(i.file.code(&part[n]))
			if _, twice := at[digest]; !twice {
				at[digest] = n
				digests = append(digests, digest[:])
			}
		}
		for few := range slices.Chunk(digests, lookUpMax) {
			query := i.register.ledger.SelectFrom("codes", "digest", "pool_id", "prize_id").Where(squirrel.Eq{"digest": anys(few)})
			text, args, err := query.ToSql()
			if err != nil {
				return nil, err
			}
			err = eachOwner(ctx, tx, text, args, func(digest []byte, pool, prize string) {
				if n, isOurs := at[[seal.DigestLength]byte(digest)]; isOurs {
					owners[n] = fmt.Sprintf("pool %q, prize %q has it", pool, prize)
				}
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return owners, nil
}

func eachOwner(ctx context.Context, tx *sql.Tx, text string, args []any, each func(digest []byte, pool, prize string)) (err error) {
	rows, err := tx.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var digest []byte
		var pool, prize string
		if err := rows.Scan(&digest, &pool, &prize); err != nil {
			return err
		}
		if len(digest) == seal.DigestLength {
			each(digest, pool, prize)
		}
	}
	return rows.Err()
}

// anys converts byte slices to the form that squirrel treats as a list.
func anys(all [][]byte) []any {
	list := make([]any, len(all))
	for i := range all {
		list[i] = all[i]
	}
	return list
}

// foresee returns the result that the import would have.
func (i *importing) foresee(before draw.ImportedCodes, duplicates int64) draw.ImportedCodes {
	left := int64(len(i.file.lines)) - i.state.lines
	added := i.state.added + left - duplicates
	done := draw.ImportedCodes{
		Added: added, Skipped: i.state.skipped + duplicates, Places: before.Places + left - duplicates, Stocked: before.Stocked, Version: before.Version,
	}
	if added > 0 {
		done.Version++
		if !i.Reserve {
			done.Version++
			done.Stocked += added
		}
	}
	return done
}

// writePart writes the next part of the codes to the reserve.
func (i *importing) writePart(ctx context.Context) error {
	r := i.register
	var after importState
	err := r.ledger.Change(ctx, func(tx *sql.Tx) error {
		if err := r.lockWriters(ctx, tx, i.key); err != nil {
			return err
		}
		h, err := r.lockHead(ctx, tx, i.PoolID, i.PrizeID)
		if err != nil {
			return err
		}
		_, at, err := i.load(ctx, tx, r.ledger.Engine.ForUpdate)
		if err != nil {
			return err
		}
		if after, err = at.clone(); err != nil {
			return err
		}
		part := i.file.lines[after.lines:min(int64(len(i.file.lines)), after.lines+partMax)]
		if len(part) == 0 { // another request with the same key has written all lines, and may have finished
			return nil
		}
		added, err := i.write(ctx, tx, part, h.places, &after)
		if err != nil {
			return err
		}
		h.places += added
		if added > 0 && !slices.Contains(h.under, i.key.ID) {
			h.under = append(h.under, i.key.ID)
		}
		if err := r.setHead(ctx, tx, i.PoolID, i.PrizeID, h); err != nil || i.Key == "" {
			return err
		}
		return i.save(ctx, tx, at.lines == 0, &after, nil)
	})
	if err == nil {
		i.state = after
	}
	return err
}

// write inserts the codes of a part after the place with the number places, and returns
// how many it inserted.
func (i *importing) write(ctx context.Context, tx *sql.Tx, part []line, places int64, to *importState) (added int64, err error) {
	owners := make([]string, len(part))
	if i.asksOwners() {
		if owners, err = i.owners(ctx, tx, part); err != nil {
			return 0, err
		}
	}
	var bad badLines
	var fresh []*line
	for n := range part {
		l := &part[n]
		to.lines++
		switch {
		case owners[n] == "" && l.repeats == 0:
			fresh = append(fresh, l)
		case i.Skip:
			to.skipped++
		default:
			bad.add(l.number, owners[n])
		}
	}
	if err := bad.err(); err != nil { // another request has imported one of the codes in the meantime
		return 0, draw.Errorf(draw.CodeInvalidRequest, "another import wrote codes of the file meanwhile: %s", draw.DetailOf(err))
	}
	to.added += int64(len(fresh))
	for few := range slices.Chunk(fresh, ledger.RowsMax) {
		insert := i.register.insertCodes()
		for _, l := range few {
			added++
			code := i.file.code(l)
			_, _ = to.list.Write(code) // a hash accepts all texts
			_, _ = to.list.Write([]byte{'\n'})
			insert = i.register.codeRow(insert, i.PoolID, i.PrizeID, places+added, i.key, code)
		}
		_, err := insert.RunWith(tx).ExecContext(ctx)
		if i.register.ledger.IsDuplicate(err) && !i.asksOwners() {
			i.isDoubtful = true
			return 0, engine.ErrConflict
		}
		if err != nil {
			return 0, err
		}
	}
	return added, nil
}

// asksOwners reports whether a write has to search for its codes again. The check has
// found all duplicates, and the schema excludes codes that were written later, if they
// are sealed under the same key.
func (i *importing) asksOwners() bool { return i.Skip || i.isDoubtful || len(i.ring.Keys()) > 1 }

// insertCodes begins an INSERT of codes; codeRow adds one sealed code.
func (r *Register) insertCodes() squirrel.InsertBuilder {
	return r.ledger.InsertInto("codes").Columns("pool_id", "prize_id", "place", "digest", "key_id", "sealed")
}

func (r *Register) codeRow(insert squirrel.InsertBuilder, poolID, prizeID string, place int64, key *seal.Key, code []byte) squirrel.InsertBuilder {
	digest := key.Digest(code)
	return insert.Values(poolID, prizeID, place, digest[:], key.ID, key.Seal(codeName(poolID, prizeID), code))
}

// begun returns the state before the first line.
func (i *importing) begun() importState {
	list := sha256.New()
	_, _ = io.WriteString(list, i.salt+"\n") // a hash accepts all texts
	return importState{list: list}
}

// clone copies a state, because a transaction may be tried again.
func (p importState) clone() (importState, error) {
	state, err := marshal(p.list)
	if err != nil {
		return p, err
	}
	p.list, err = unmarshal(state)
	return p, err
}

func marshal(list hash.Hash) ([]byte, error) {
	return list.(encoding.BinaryMarshaler).MarshalBinary()
}

func unmarshal(state []byte) (hash.Hash, error) {
	list := sha256.New()
	return list, list.(encoding.BinaryUnmarshaler).UnmarshalBinary(state)
}
