package stock

import (
	"context"
	"database/sql"
	"errors"
	"io"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/prizefile"
	"drawsvc/internal/stock/engine"
)

// ImportOptions of an import.
type ImportOptions struct {
	// Reason and Actor are noted with every move of the import.
	Reason, Actor string
	// Progress, when set, is called with how many of the moves to make are made. It
	// starts again when the database asks for another try.
	Progress func(done, total int)
}

// Imported is what an import did.
type Imported struct {
	// Added and Restocked are the numbers of prizes that were new and of
	// those that were there and got more stock.
	Added, Restocked int
	// Units is the stock that was put in, of all prizes together.
	Units int64
	// Version is the pool's version after the import.
	Version int64
}

// Import stocks a pool from a CSV file with the header [prizefile.Header], whole
// or not at all, in one transaction; draws on the pool wait meanwhile. A prize
// that the pool does not have is added. One that it has gets the line's stock
// added; its name and value must be the same or empty. Nothing marks a file
// as imported: the same file again stocks again.
//
// Errors: CodeInvalidRequest, which names the first bad lines of the file,
// CodePoolNotFound, those of the reader, and those of the store.
func (s *Store) Import(ctx context.Context, poolID string, file io.Reader, o ImportOptions) (Imported, error) {
	if err := errors.Join(draw.CheckReason(o.Reason), draw.CheckActor(o.Actor)); err != nil {
		return Imported{}, first(err)
	}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	lines, err := prizefile.Read(file)
	if err != nil {
		return Imported{}, err
	}
	var done Imported
	err = s.change(ctx, func(tx *sql.Tx) (err error) {
		done, err = s.importLines(ctx, tx, poolID, lines, o)
		return err
	})
	if err != nil {
		return Imported{}, err
	}
	s.options.Changed(poolID)
	return done, nil
}

// importLines makes the import's moves, part by part, once every line is known
// to be good.
func (s *Store) importLines(ctx context.Context, tx *sql.Tx, poolID string, lines []prizefile.Line, o ImportOptions) (done Imported, err error) {
	of, err := s.lockPool(ctx, tx, poolID, o.Actor)
	if err != nil {
		return done, err
	}
	present, prizes, err := s.presentPrizes(ctx, tx, poolID, lines)
	if err != nil {
		return done, err
	}
	moves, err := importMoves(lines, present, draw.PrizesMax-prizes, o.Reason)
	if err != nil {
		return done, err
	}
	done.Version = of.head.Version
	for n := 0; n < len(moves); {
		part := moves[n:min(len(moves), n+stockRowsMax)]
		if err := s.insertStock(ctx, tx, of, n, part); err != nil {
			return done, err
		}
		done.count(part)
		n += len(part)
		o.Progress(n, len(moves))
	}
	return done, s.moved(ctx, tx, of, len(moves))
}

// count adds moves that are made.
func (d *Imported) count(moves []stocking) {
	for _, m := range moves {
		if m.isNew {
			d.Added++
		} else {
			d.Restocked++
		}
		d.Units += m.delta
	}
	d.Version += int64(len(moves))
}

// presentPrizes returns those prizes of the file that the pool has, and the
// number of all that it has. It reads the pool once, whole: finding prizes
// by hundreds took longer on every database but a small one.
func (s *Store) presentPrizes(ctx context.Context, tx *sql.Tx, poolID string, lines []prizefile.Line) (map[string]draw.Prize, int, error) {
	wanted := make(map[string]bool, len(lines))
	for i := range lines {
		wanted[lines[i].Prize.ID] = true
	}
	present := map[string]draw.Prize{}
	query := s.selectFrom("prizes", engine.PrizeColumns).Where(squirrel.Eq{"pool_id": poolID})
	all, err := selectAll(ctx, tx, query, func(row engine.Scanner) (struct{}, error) {
		p, err := engine.ScanPrize(row)
		if wanted[p.ID] {
			present[p.ID] = p
		}
		return struct{}{}, err
	})
	return present, len(all), err
}

// importMoves turns lines into moves, at most room of them of new prizes.
func importMoves(lines []prizefile.Line, present map[string]draw.Prize, room int, reason string) ([]stocking, error) {
	moves := make([]stocking, 0, len(lines))
	var bad prizefile.BadLines
	for _, line := range lines {
		prize, isPresent := present[line.Prize.ID]
		move := stocking{prize: prize, delta: line.Prize.Stocked, reason: reason, isNew: !isPresent}
		if !isPresent {
			move.prize = line.Prize
			room--
		}
		switch {
		case isPresent && line.Prize.Name != "" && line.Prize.Name != prize.Name:
			bad.Add(line.Number, "prize %q has the name %q in the pool", prize.ID, prize.Name)
		case isPresent && line.HasValue && !line.Prize.Value.Equal(prize.Value):
			bad.Add(line.Number, "prize %q has the value %s in the pool", prize.ID, prize.Value.StringFixed(2))
		case isPresent && prize.Stocked+move.delta > draw.StockMax:
			bad.Add(line.Number, "the stock of prize %q would be above %d", prize.ID, draw.StockMax)
		case !isPresent && line.Prize.Name == "":
			bad.Add(line.Number, "prize %q is new and needs a name", line.Prize.ID)
		case !isPresent && room < 0:
			bad.Add(line.Number, "is beyond the %d prizes that a pool may hold", draw.PrizesMax)
		case move.isNew || move.delta > 0:
			moves = append(moves, move)
		}
	}
	return moves, bad.Err()
}
