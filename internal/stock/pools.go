package stock

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// CreatePool creates a pool with its prizes, completely or not at all, and returns it.
// Its first version is the change that creates it. The stock of each prize is a separate
// move after that, in the order of the prizes. State "" means open. Errors:
// CodeInvalidRequest, CodePoolExists, and those of the store.
func (s *Store) CreatePool(ctx context.Context, p draw.Pool, actor string) (draw.Pool, error) {
	p.State = cmp.Or(p.State, draw.StateOpen)
	if err := errors.Join(p.Check(), draw.CheckStart(p.State), draw.CheckActor(actor)); err != nil {
		return draw.Pool{}, first(err)
	}
	err := s.ledger.Change(ctx, func(tx *sql.Tx) error {
		_, err := s.createIn(ctx, tx, &p, actor)
		return err
	})
	if err != nil {
		return draw.Pool{}, err
	}
	for i := range p.Prizes {
		p.Prizes[i].Issued = 0
	}
	return p, nil
}

// createIn creates a pool in a transaction, and sets its versions.
func (s *Store) createIn(ctx context.Context, tx *sql.Tx, p *draw.Pool, actor string) (*ledger.LockedPool, error) {
	at, err := s.ledger.DatabaseTime(ctx, tx)
	if err != nil {
		return nil, err
	}
	of := &ledger.LockedPool{Pool: *p, Head: draw.NewHead(), At: at, Actor: actor}
	_, err = s.ledger.InsertInto("pools").
		Columns("id", "name", "state", "mode", "version", "mark", "created_at").
		Values(p.ID, p.Name, string(p.State), engine.Optional(p.Mode), of.Head.Version, of.Head.Mark, s.engine.Time(at)).
		RunWith(tx).ExecContext(ctx)
	if s.ledger.IsDuplicate(err) {
		return nil, draw.Errorf(draw.CodePoolExists, "there is a pool %q already", p.ID)
	}
	if err != nil {
		return nil, err
	}
	if err := s.ledger.Record(ctx, tx, of, []ledger.NewChange{created(p)}); err != nil {
		return nil, err
	}
	stockings := make([]ledger.Stocking, len(p.Prizes))
	for i, prize := range p.Prizes {
		stockings[i] = ledger.Stocking{Prize: prize, Delta: prize.Stocked, Reason: reasonCreated, IsNew: true}
	}
	if p.Currency != "" || p.Text != "" {
		if err := s.writeShown(ctx, tx, p); err != nil {
			return nil, err
		}
	}
	err = s.ledger.StockAll(ctx, tx, of, stockings)
	if err == nil && p.Rules != nil {
		var r draw.Ruling
		r, err = s.ledger.RecordRules(ctx, tx, of, nil, p.Rules, p.Prizes)
		p.RulesVersion = r.Version
	}
	p.Version, p.Revision = of.Head.Version, of.Pool.Revision
	return of, err
}

// reasonCreated is the reason of the moves that create prizes.
const reasonCreated = "created"

// Pools returns all pools with their prizes, including archived ones, in order of their
// ids, from one snapshot.
func (s *Store) Pools(ctx context.Context) ([]draw.Pool, error) {
	return s.pools(ctx, s.engine.Read, func(q squirrel.SelectBuilder) squirrel.SelectBuilder { return q })
}

// scanMax is the maximum number of names that one page of a list of pools reads. scanStep
// is the number that one statement reads. Each name takes about 100 bytes.
const (
	scanMax  = 10_000
	scanStep = 1000
)

// PoolPage returns at most limit pools that the filter wanted selects and whose ids are
// greater than after, in order of their ids. next is the value of after for the next
// page, "" if this page is the last. A page reads at most scanMax names, so it may have
// fewer pools than limit, or none, without being the last. Errors: those of the store.
func (s *Store) PoolPage(ctx context.Context, wanted draw.PoolFilter, after string, limit int) (pools []draw.Pool, next string, err error) {
	err = s.ledger.SnapshotOn(ctx, s.engine.Read, func(tx *sql.Tx) error {
		var ids []string
		if ids, next, err = s.searchPools(ctx, tx, wanted, after, limit); err != nil || len(ids) == 0 {
			pools = nil
			return err
		}
		pools, err = s.poolsIn(ctx, tx, func(q squirrel.SelectBuilder) squirrel.SelectBuilder {
			return q.Where(squirrel.Eq{"id": ids})
		})
		return err
	})
	return pools, next, err
}

// searchPools returns the ids of at most limit pools that the filter wanted selects, and
// the value of after for the next page. It selects pools here and not by SQL, because
// only ids have an index, and because databases ignore case and accents in different
// ways.
func (s *Store) searchPools(ctx context.Context, tx *sql.Tx, wanted draw.PoolFilter, after string, limit int) (ids []string, next string, err error) {
	selects := wanted.Matcher()
	for range scanMax / scanStep {
		query := s.ledger.SelectFrom("pools", "id", "name", "state", "archived").Where(squirrel.Gt{"id": after}).OrderBy("id").Limit(scanStep)
		step, err := ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (p draw.Pool, err error) {
			err = row.Scan(&p.ID, &p.Name, &p.State, &p.Archived)
			return p, err
		})
		if err != nil {
			return nil, "", err
		}
		for i := range step {
			if !selects(&step[i]) {
				continue
			}
			if len(ids) == limit {
				return ids, ids[limit-1], nil
			}
			ids = append(ids, step[i].ID)
		}
		if len(step) < scanStep {
			return ids, "", nil
		}
		after = step[scanStep-1].ID
	}
	return ids, after, nil
}

// Pool returns one pool with its prizes. Error: CodePoolNotFound, and those of
// the store.
func (s *Store) Pool(ctx context.Context, id string) (draw.Pool, error) {
	return s.poolOn(ctx, s.engine.Read, id)
}

func (s *Store) poolOn(ctx context.Context, db *sql.DB, id string) (p draw.Pool, err error) {
	err = s.ledger.SnapshotOn(ctx, db, func(tx *sql.Tx) error {
		p, err = s.poolIn(ctx, tx, id)
		return err
	})
	return p, err
}

// poolIn reads a pool in a transaction. Error: CodePoolNotFound.
func (s *Store) poolIn(ctx context.Context, tx *sql.Tx, id string) (draw.Pool, error) {
	pools, err := s.poolsIn(ctx, tx, func(q squirrel.SelectBuilder) squirrel.SelectBuilder { return q.Where(squirrel.Eq{"id": id}) })
	if err == nil && len(pools) == 0 {
		err = s.ledger.Absent(ctx, tx, engine.PoolNotFound(id))
	}
	if err != nil {
		return draw.Pool{}, err
	}
	return pools[0], nil
}

// pools reads pools. Its last parameter is a function that adds the conditions that
// select them.
func (s *Store) pools(ctx context.Context, db *sql.DB, which func(squirrel.SelectBuilder) squirrel.SelectBuilder) (pools []draw.Pool, err error) {
	err = s.ledger.SnapshotOn(ctx, db, func(tx *sql.Tx) error {
		pools, err = s.poolsIn(ctx, tx, which)
		return err
	})
	return pools, err
}

// poolsIn is pools in a given transaction.
func (s *Store) poolsIn(ctx context.Context, tx *sql.Tx, which func(squirrel.SelectBuilder) squirrel.SelectBuilder) ([]draw.Pool, error) {
	ofPool := which(s.ledger.SelectFrom("pools", "id", "name", "state", "COALESCE(mode, '')", "version", "revision", "archived", "rules", "committed", "due_at", "opening_round", "opening_at", "spent", "spent_from").OrderBy("id"))
	pools, err := ledger.SelectAll(ctx, tx, ofPool, func(row engine.Scanner) (p draw.Pool, err error) {
		err = row.Scan(&p.ID, &p.Name, &p.State, &p.Mode, &p.Version, &p.Revision, &p.Archived, &p.RulesVersion, &p.Committed, engine.ScanTime(&p.DueAt), &p.Round, engine.ScanTime(&p.RoundAt), &p.Spent.Cents, engine.ScanTime(&p.Spent.From))
		return p, err
	})
	if err != nil || len(pools) == 0 {
		return nil, err
	}
	at := make(map[string]*draw.Pool, len(pools))
	of := make([]*draw.Pool, len(pools))
	for i := range pools {
		at[pools[i].ID], of[i] = &pools[i], &pools[i]
	}
	ofPrize := s.ledger.SelectFrom("prizes", "pool_id", s.engine.PrizeColumns()).Where(rowsOf(of)).OrderBy("pool_id", "added")
	_, err = ledger.SelectAll(ctx, tx, ofPrize, func(row engine.Scanner) (struct{}, error) {
		var poolID string
		var p draw.Prize
		err := row.Scan(append([]any{&poolID}, engine.PrizeFields(&p)...)...)
		if pool := at[poolID]; pool != nil {
			pool.Prizes = engine.Appended(pool.Prizes, p)
		}
		return struct{}{}, err
	})
	err = cmp.Or(err, s.readShown(ctx, tx, of), s.readDisplays(ctx, tx, of))
	for i := range pools {
		err = cmp.Or(err, s.ledger.ReadPlaces(ctx, tx, pools[i].ID, pools[i].Prizes))
	}
	return pools, err
}

// first returns the first of several joined errors.
func first(err error) error {
	if e, ok := errors.AsType[*draw.Error](err); ok {
		return e
	}
	return err
}
