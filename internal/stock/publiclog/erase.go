package publiclog

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// eraseTagsMax is the maximum number of awards to which one statement gives different
// tags.
const eraseTagsMax = 250

// EraseCommitted erases a user from the user's awards at the given versions of a
// committed pool. It replaces the user by the tags that the pool's log uses. Under rules
// that count users, that is one tag for all draws, otherwise one for each draw. The log
// does not change, so no entry is made. If the secret of the tags was destroyed, all
// awards get the pseudonym.
func (s *Store) EraseCommitted(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool, user, pseudonym string, versions []int64) (renamed int64, err error) {
	poolID := of.Pool.ID
	if err := s.mayErase(ctx, tx, of, user); err != nil {
		return 0, err
	}
	c, err := s.committed(ctx, tx, poolID)
	if err != nil {
		return 0, err
	}
	if len(c.sealed.Salts) == 0 {
		if renamed, err = s.ledger.RenameUser(ctx, tx, poolID, user, pseudonym, versions); err != nil {
			return 0, err
		}
		return renamed, s.ledger.RenameTurns(ctx, tx, poolID, user, pseudonym)
	}
	by, err := s.sealed(poolID, c)
	if err != nil {
		return 0, err
	}
	rulings, err := s.ledger.Rulings(ctx, tx, poolID)
	if err != nil {
		return 0, err
	}
	for _, r := range rulings { // the rules determine the tag of an award
		if why := r.Rules.Unreadable(); why != nil {
			return 0, draw.Unreadable("the rules of version %d", why, r.Version)
		}
	}
	for part := range slices.Chunk(versions, eraseTagsMax) {
		n, err := s.renameToTags(ctx, tx, poolID, user, part, func(a *draw.Award) string {
			var rules *draw.Rules
			if place := sort.Search(len(rulings), func(i int) bool { return rulings[i].Version > a.Version }); place > 0 {
				rules = rulings[place-1].Rules
			}
			return draw.ErasedUser(by.salts.UserOf(a.DrawID, user, rules))
		})
		if err != nil {
			return 0, err
		}
		renamed += n
	}
	// Only rules that count users write turns.
	if err := s.ledger.RenameTurns(ctx, tx, poolID, user, draw.ErasedUser(by.salts.Pseudonym(user))); err != nil {
		return 0, err
	}
	s.ledger.Log.Info("a user of a committed pool was erased", "pool", poolID, "awards", renamed, "actor", of.Actor)
	return renamed, nil
}

// mayErase returns an error if the user has turns and the pool may still be drawn from.
// The user's next draw would start a new count here. In the log, where the user has the
// same tag, it would continue the old count. Verifiers would find draws beyond a limit.
func (s *Store) mayErase(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool, user string) error {
	if of.Pool.State == draw.StateClosed {
		return nil
	}
	turns, err := ledger.SelectAll(ctx, tx, s.ledger.SelectFrom("turns", "seq").Where(squirrel.Eq{"pool_id": of.Pool.ID, "user_id": user}).Limit(1), ledger.ScanInt)
	if err == nil && len(turns) > 0 {
		return draw.Errorf(draw.CodePoolOpen, "pool %q is committed, and its rules have counted draws of the user; close it before the user is erased", of.Pool.ID)
	}
	return err
}

func (s *Store) renameToTags(ctx context.Context, tx *sql.Tx, poolID, user string, versions []int64, to func(*draw.Award) string) (int64, error) {
	at := squirrel.Eq{"pool_id": poolID, "version": versions, "user_id": user}
	awards, err := ledger.SelectAll(ctx, tx, s.ledger.SelectFrom("awards", "version", "draw_id").Where(at), func(row engine.Scanner) (a draw.Award, err error) {
		err = row.Scan(&a.Version, &a.DrawID)
		return a, err
	})
	if err != nil || len(awards) == 0 { // another call has erased them
		return 0, err
	}
	tags := squirrel.Case("version")
	for i := range awards {
		tags = tags.When(squirrel.Expr("?", awards[i].Version), squirrel.Expr("?", to(&awards[i])))
	}
	result, err := s.ledger.Builder().Update("awards").Set("user_id", tags).Where(at).RunWith(tx).ExecContext(ctx)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// EraseSalts permanently destroys the secret of the tags of a committed pool. From then
// on nobody can link a tag of the public log to a user. Neither the log nor a receipt can
// be written again: only the files that are already published remain. Therefore published
// must contain the whole log and the reveal, as an export or a publisher wrote them. If
// the secret is already destroyed, nothing changes. Errors: CodeInvalidRequest for files
// that are not the whole log, CodePoolNotFound, CodeNotFound, CodePoolOpen for a pool
// that is not closed and revealed, CodeSeedUnavailable, CodeContended, ErrForked, and
// those of the store.
func (s *Store) EraseSalts(ctx context.Context, poolID string, published fs.FS, actor string) error {
	if err := draw.CheckActor(actor); err != nil {
		return err
	}
	erased := false
	err := s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		c, err := s.committed(ctx, tx, poolID)
		switch {
		case err != nil:
			return err
		case c.revealed == "": // only a closed pool's seed is revealed, and the pool stays closed
			return draw.Errorf(draw.CodePoolOpen, "pool %q must be closed and its seed revealed before the secret of its tags is destroyed", poolID)
		}
		erased = len(c.sealed.Salts) == 0
		return nil
	})
	if err != nil || erased {
		return err
	}
	size, err := s.checkPublished(ctx, poolID, published)
	if err != nil {
		return err
	}
	return s.signing(ctx, poolID, func(tx *sql.Tx, of *ledger.LockedPool, _ *signer) error {
		if of.Head.Version > size {
			return draw.Errorf(draw.CodeContended, "pool %q has another entry meanwhile; publish it, and repeat the call", poolID)
		}
		s.ledger.Log.Info("the secret of a pool's tags is destroyed", "pool", poolID, "actor", actor)
		return ledger.ExecOne(ctx, tx, s.ledger.Builder().Update("commitments").Set("salts", []byte{}).Where(squirrel.Eq{"pool_id": poolID}))
	})
}

// checkPublished verifies that files contain everything that a pool publishes, and
// returns the size of its log.
func (s *Store) checkPublished(ctx context.Context, poolID string, files fs.FS) (size int64, err error) {
	if err := s.Checkpoint(ctx, poolID); err != nil {
		return 0, err
	}
	p, err := s.proof(ctx, poolID, 1)
	if err != nil {
		return 0, err
	}
	last, err := proof.ReadCheckpoint(p.Checkpoint)
	if err != nil {
		return 0, err
	}
	refused := func(why string) error {
		return draw.Errorf(draw.CodeInvalidRequest, "the files are not the whole published log of pool %q: %s; nothing is destroyed", poolID, why)
	}
	reveal, err := fs.ReadFile(files, "reveal")
	if err != nil || string(reveal) != string(p.Reveal) {
		return 0, refused("they lack its reveal")
	}
	found, err := proof.Verify(files, proof.VerifyOptions{Key: strings.TrimSuffix(string(p.Key), "\n"), Kept: [][]byte{p.Checkpoint}})
	switch {
	case err != nil:
		return 0, refused(err.Error())
	case !found.OK:
		return 0, refused(fmt.Sprintf("entry %d: %s: %s", found.Entry, found.Rule, found.Detail))
	}
	return last.Size, nil
}
