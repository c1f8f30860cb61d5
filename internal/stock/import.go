package stock

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
	"drawsvc/internal/prizefile"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// Import stocks a pool from a CSV file with the header [prizefile.Header], completely or
// not at all, in one transaction. Draws on the pool wait meanwhile. A prize that the pool
// does not have is added. The stock of an existing prize is raised by the stock in its
// line. The name and the value in the line must be empty or those of the prize. Without a
// key, nothing records that a file was imported: importing it twice adds its stock twice.
//
// progress, if it is not nil, is called with the number of moves that are made. It starts
// again if the transaction is retried.
//
// Errors: CodeInvalidRequest, which names the first bad lines of the file,
// CodePoolNotFound, CodeKeyReused if the key was used with another file, CodeForbidden
// for a new prize if only existing prizes may be stocked, CodePoolClosed, and those of
// the reader and of the store.
func (s *Store) Import(ctx context.Context, w draw.Import, file io.Reader, progress func(done, total int)) (draw.Imported, error) {
	if err := w.Check(); err != nil {
		return draw.Imported{}, err
	}
	if progress == nil {
		progress = func(int, int) {}
	}
	admit, err := s.linesAdmitted(ctx, w)
	if err != nil {
		return draw.Imported{}, err
	}
	read, err := prizefile.Read(file, admit)
	if err != nil {
		return draw.Imported{}, err
	}
	if read.Bad.Err() != nil {
		return draw.Imported{}, s.compareBad(ctx, w, read)
	}
	var done draw.Imported
	err = s.ledger.Change(ctx, func(tx *sql.Tx) (err error) {
		done, err = s.importLines(ctx, tx, w, read.Lines, progress)
		return err
	})
	if err != nil {
		return draw.Imported{}, err
	}
	done.Encoding = read.Encoding
	if !w.DryRun && !done.Replayed {
		s.options.Changed(w.PoolID)
	}
	return done, nil
}

// compareBad returns all errors of a file that has bad lines. It also compares the good
// lines with the pool, so that the user learns of all errors at once. If the pool cannot
// be read, it returns only the errors of the file itself.
func (s *Store) compareBad(ctx context.Context, w draw.Import, file *prizefile.File) error {
	bad := file.Bad
	_ = s.ledger.Snapshot(ctx, func(tx *sql.Tx) error { // a failed read must not hide the errors of the file
		bad = file.Bad.Clone()
		present, prizes, err := s.presentPrizes(ctx, tx, w.PoolID, file.Lines)
		if err == nil {
			_, _ = importMoves(w.Reason, file.Lines, present, draw.PrizesMax-prizes, &bad)
		}
		return err
	})
	return bad.Err()
}

// linesAdmitted returns a function that checks, while a file is read, whether an import
// may contain a line. Prizes are never removed, so a line that is refused now would be
// refused later too.
func (s *Store) linesAdmitted(ctx context.Context, w draw.Import) (func(*prizefile.Line) error, error) {
	if !w.PresentOnly {
		return func(*prizefile.Line) error { return nil }, nil
	}
	p, err := s.Pool(ctx, w.PoolID)
	present := make(map[string]bool, len(p.Prizes))
	for i := range p.Prizes {
		present[p.Prizes[i].ID] = true
	}
	return func(line *prizefile.Line) error {
		if present[line.Prize.ID] {
			return nil
		}
		return draw.Errorf(draw.CodeForbidden, "line %d: prize %q is new to the pool; a token of role stock may stock prizes that are there", line.Number, line.Prize.ID)
	}, err
}

// importLines makes the moves of an import in parts, after every line was checked.
func (s *Store) importLines(ctx context.Context, tx *sql.Tx, w draw.Import, lines []prizefile.Line, progress func(done, total int)) (done draw.Imported, err error) {
	of, err := s.ledger.LockPool(ctx, tx, w.PoolID, w.Actor)
	if err != nil {
		return done, err
	}
	if w.Key != "" {
		if known, err := s.importByKey(ctx, tx, w, lines); known != nil || err != nil {
			return *cmp.Or(known, &done), err
		}
	}
	present, prizes, err := s.presentPrizes(ctx, tx, w.PoolID, lines)
	if err != nil {
		return done, err
	}
	moves, err := importMoves(w.Reason, lines, present, draw.PrizesMax-prizes, &prizefile.BadLines{})
	if err != nil {
		return done, err
	}
	done = resultOf(of.Head.Version, moves)
	if len(moves) > 0 {
		if err := s.ledger.CheckStock(ctx, tx, of); err != nil {
			return done, err
		}
	}
	if w.DryRun {
		done.Preview, done.Value = preview(moves), valueOf(moves)
		worth, err := s.remainingWorth(ctx, tx, w.PoolID)
		done.StockValue = worth.Add(done.Value)
		return done, err
	}
	if w.Key != "" && len(moves) > 0 {
		moves[0].Key = importMark(w.Key, lines) + importCounts(done)
	}
	for n := 0; n < len(moves); {
		part := moves[n:min(len(moves), n+ledger.RowsMax)]
		if err := s.ledger.InsertStock(ctx, tx, of, n, part); err != nil {
			return done, err
		}
		n += len(part)
		progress(n, len(moves))
	}
	return done, s.ledger.Moved(ctx, tx, of, len(moves))
}

// resultOf returns the counts of moves whose first version follows version.
func resultOf(version int64, moves []ledger.Stocking) draw.Imported {
	d := draw.Imported{Version: version + int64(len(moves))}
	for i := range moves {
		if moves[i].IsNew {
			d.Added++
		} else {
			d.Restocked++
		}
		if !moves[i].Prize.IsEndless() {
			d.Units += moves[i].Delta
		}
	}
	return d
}

// preview returns the first of the moves.
func preview(moves []ledger.Stocking) []draw.ImportedPrize {
	list := []draw.ImportedPrize{}
	for _, m := range moves[:min(len(moves), draw.PreviewMax)] {
		after := m.Delta
		if !m.IsNew {
			after += m.Prize.Stocked
		}
		list = append(list, draw.ImportedPrize{
			PrizeID: m.Prize.ID, Name: m.Prize.Name, Value: m.Prize.Value, IsNew: m.IsNew, IsEndless: m.Prize.IsEndless(), Delta: m.Delta, Stocked: after,
		})
	}
	return list
}

// valueOf returns the total value of the units that moves add.
func valueOf(moves []ledger.Stocking) (sum decimal.Decimal) {
	for i := range moves {
		sum = sum.Add(moves[i].Prize.Value.Mul(decimal.NewFromInt(moves[i].Delta)))
	}
	return sum
}

// remainingWorth returns the value of the remaining units of a pool.
func (s *Store) remainingWorth(ctx context.Context, tx *sql.Tx, poolID string) (sum decimal.Decimal, err error) {
	prizes, err := s.ledger.Prizes(ctx, tx, poolID)
	for i := range prizes {
		sum = sum.Add(prizes[i].Value.Mul(decimal.NewFromInt(prizes[i].Remaining())))
	}
	return sum, err
}

// presentPrizes returns those prizes of the file that the pool has, and the number of all
// prizes of the pool. It reads the whole pool once. Finding prizes in groups of hundreds
// took longer on every database except a small one.
func (s *Store) presentPrizes(ctx context.Context, tx *sql.Tx, poolID string, lines []prizefile.Line) (map[string]draw.Prize, int, error) {
	wanted := make(map[string]bool, len(lines))
	for i := range lines {
		wanted[lines[i].Prize.ID] = true
	}
	present := map[string]draw.Prize{}
	query := s.ledger.SelectFrom("prizes", s.engine.PrizeColumns()).Where(squirrel.Eq{"pool_id": poolID})
	all, err := ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (struct{}, error) {
		p, err := engine.ScanPrize(row)
		if wanted[p.ID] {
			present[p.ID] = p
		}
		return struct{}{}, err
	})
	if err == nil {
		err = s.readPlaces(ctx, tx, poolID, present)
	}
	return present, len(all), err
}

// readPlaces is [ledger.Ledger.ReadPlaces] for prizes by their ids.
func (s *Store) readPlaces(ctx context.Context, tx *sql.Tx, poolID string, present map[string]draw.Prize) error {
	var coded []draw.Prize
	for _, p := range present {
		if p.HasCodes {
			coded = append(coded, p)
		}
	}
	err := s.ledger.ReadPlaces(ctx, tx, poolID, coded)
	for _, p := range coded {
		present[p.ID] = p
	}
	return err
}

// importMoves converts lines to moves. At most room of the lines may add new prizes.
// Lines that do not fit the pool are added to bad.
func importMoves(reason string, lines []prizefile.Line, present map[string]draw.Prize, room int, bad *prizefile.BadLines) ([]ledger.Stocking, error) {
	moves := make([]ledger.Stocking, 0, len(lines))
	var missing *draw.Error
	for _, line := range lines {
		prize, isPresent := present[line.Prize.ID]
		move := ledger.Stocking{Prize: prize, Delta: line.Prize.Stocked, Reason: reason, IsNew: !isPresent}
		if bad.IsFull() {
			break
		}
		if !isPresent {
			move.Prize = line.Prize
			room--
		}
		switch {
		case isPresent && line.Prize.Name != "" && line.Prize.Name != prize.Name:
			bad.Add(line.Number, "prize %q has the name %q in the pool", prize.ID, prize.Name)
		case isPresent && line.HasValue && !line.Prize.Value.Equal(prize.Value):
			bad.Add(line.Number, "prize %q has the value %s in the pool", prize.ID, prize.Value.StringFixed(2))
		case isPresent && line.HasKind && line.Prize.IsWin() != prize.IsWin():
			bad.Add(line.Number, "prize %q has the kind %s in the pool", prize.ID, prize.Kind)
		case isPresent && prize.IsEndless() && (line.Prize.IsEndless() || move.Delta == 0):
			// A file cannot raise the stock of this prize.
		case isPresent && (&draw.Stocking{Delta: move.Delta}).Admit(&prize) != nil:
			bad.Add(line.Number, "prize %q is a blank of the pool; an endless one has no stock, and no other becomes endless", prize.ID)
		case isPresent && prize.Stocked+move.Delta > draw.StockMax:
			bad.Add(line.Number, "the stock of prize %q would be above %d", prize.ID, draw.StockMax)
		case isPresent && prize.CheckCodes(move.Delta) != nil:
			missing = cmp.Or(missing, draw.Errorf(draw.CodeCodesMissing, "line %d: %s", line.Number, draw.DetailOf(prize.CheckCodes(move.Delta))))
		case !isPresent && line.Prize.Name == "":
			bad.Add(line.Number, "prize %q is new and needs a name", line.Prize.ID)
		case !isPresent && room < 0:
			bad.Add(line.Number, "is beyond the %d prizes that a pool may hold", draw.PrizesMax)
		case move.IsNew || move.Delta > 0:
			moves = append(moves, move)
		}
	}
	if err := bad.Err(); err != nil || missing == nil {
		return moves, err
	}
	return nil, missing
}

// The key of an import is stored with its first move. It contains all data that a replay
// needs: import:KEY:FILE:ADDED:RESTOCKED, where KEY and FILE are digests. An import
// without moves stores nothing, so repeating it has the same result.
const importKey = "import:"

// importMark returns the beginning of the key of an import of lines: import:KEY:FILE:.
func importMark(key string, lines []prizefile.Line) string {
	file := sha256.New()
	for i := range lines {
		p := &lines[i].Prize
		if lines[i].HasKind && !p.IsWin() { // the mark of files without blanks is as it was before blanks existed
			_, _ = fmt.Fprintf(file, "%s\x00", p.Kind)
		}
		_, _ = fmt.Fprintf(file, "%s\x00%s\x00%t\x00%s\x00%d\n", p.ID, p.Name, lines[i].HasValue, p.Value.StringFixed(2), p.Stocked) // a hash accepts all texts
	}
	return importOf(key) + base64.RawURLEncoding.EncodeToString(file.Sum(nil)) + ":"
}

// importOf returns the beginning that all imports under a key share.
func importOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return importKey + base64.RawURLEncoding.EncodeToString(sum[:]) + ":"
}

func importCounts(d draw.Imported) string { return fmt.Sprintf("%d:%d", d.Added, d.Restocked) }

// importByKey returns the import that used the key, nil for none. Error: CodeKeyReused if
// that import had another file.
func (s *Store) importByKey(ctx context.Context, tx *sql.Tx, w draw.Import, lines []prizefile.Line) (*draw.Imported, error) {
	query := ledger.FirstFrom(s.ledger.SelectMoves(w.PoolID), "key_id", importOf(w.Key))
	found, err := ledger.SelectAll(ctx, tx, query, s.ledger.ScanMove(w.PoolID))
	if err != nil || len(found) == 0 || !strings.HasPrefix(found[0].Key, importOf(w.Key)) {
		return nil, err
	}
	counts, same := strings.CutPrefix(found[0].Key, importMark(w.Key, lines))
	if !same {
		return nil, draw.Errorf(draw.CodeKeyReused, "the key %q was used for the import of another file", w.Key)
	}
	done := draw.Imported{Replayed: true}
	if _, err := fmt.Sscanf(counts, "%d:%d", &done.Added, &done.Restocked); err != nil {
		return nil, draw.WrapInternal(err, "the record of the import under the key %q cannot be read", w.Key)
	}
	done.Version = found[0].Version + int64(done.Added+done.Restocked) - 1
	for i := range lines {
		if !lines[i].Prize.IsEndless() {
			done.Units += lines[i].Prize.Stocked
		}
	}
	return &done, nil
}
