package stock

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"fmt"
	"strings"

	"drawsvc/internal/draw"
	"drawsvc/internal/prizefile"
	"drawsvc/internal/stock/ledger"
)

// The key of an import is kept with its first move, and says all that a replay
// has to: import:KEY:FILE:ADDED:RESTOCKED, where KEY and FILE are digests. An
// import that makes no move keeps nothing, and may be repeated as it is.
const importKey = "import:"

// importMark is what the import of some lines under a key begins with.
func importMark(key string, lines []prizefile.Line) string {
	file := sha256.New()
	for i := range lines {
		p := &lines[i].Prize
		if lines[i].HasKind && !p.IsWin() { // files without blanks have the mark that they always had
			_, _ = fmt.Fprintf(file, "%s\x00", p.Kind)
		}
		_, _ = fmt.Fprintf(file, "%s\x00%s\x00%t\x00%s\x00%d\n", p.ID, p.Name, lines[i].HasValue, p.Value.StringFixed(2), p.Stocked) // a hash takes all
	}
	return importOf(key) + base64.RawURLEncoding.EncodeToString(file.Sum(nil)) + ":"
}

// importOf is what every import under a key begins with.
func importOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return importKey + base64.RawURLEncoding.EncodeToString(sum[:]) + ":"
}

func importCounts(d draw.Imported) string { return fmt.Sprintf("%d:%d", d.Added, d.Restocked) }

// importByKey finds the import that was made under the key, nil when there is
// none. Error: CodeKeyReused when it was of another file.
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
