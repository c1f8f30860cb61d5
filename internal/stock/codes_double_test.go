package stock_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// importer imports lines to a pool's prize "card".
type importer func(poolID string, lines []string) error

// judgeImports reports the faults of an importer. A file must be imported completely and
// in order, or not at all, and only once in a database. No error may contain a code.
func judgeImports(t *testing.T, s *stock.Store, do importer) (faults []string) {
	t.Helper()
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	of := func(pool string) (codes []string) {
		require.NoError(t, s.EachCode(t.Context(), pool, false, func(g *draw.GivenCode) error {
			codes = append(codes, g.Code)
			return nil
		}))
		return codes
	}
	stocktest.CodedPool(t, s, "one")
	stocktest.CodedPool(t, s, "two")
	first := stocktest.CodeLines("ONE", 5)
	if err := do("one", first); err != nil || !slices.Equal(of("one"), first) {
		fault("the file was not imported in its order: %v", err)
	}
	mixed := append(stocktest.CodeLines("TWO", 3), first[2])
	err := do("two", mixed)
	switch {
	case err == nil:
		fault("a code of another pool was accepted or passed over")
	case strings.Contains(err.Error(), first[2]):
		fault("the error has the code")
	case !strings.Contains(err.Error(), "line 4"):
		fault("the error does not name the line")
	}
	if left := of("two"); len(left) > 0 {
		fault("a bad file left %d codes", len(left))
	}
	return faults
}

// TestCodesCondemnImports: the judge reports faults of four broken imports, and none of
// the store's import. The broken ones skip duplicates, search for them in only one prize,
// write line by line, or have errors that contain the code.
func TestCodesCondemnImports(t *testing.T) {
	t.Parallel()
	try := func(s *stock.Store, w draw.CodeImport, lines []string) error {
		_, err := stocktest.TryImportCodes(t, s, w, lines)
		return err
	}
	for name, c := range map[string]struct {
		fault string
		do    func(s *stock.Store) importer
	}{
		"the store's": {"", func(s *stock.Store) importer {
			return func(pool string, lines []string) error { return try(s, draw.CodeImport{PoolID: pool}, lines) }
		}},
		"insert or ignore": {"passed over", func(s *stock.Store) importer {
			return func(pool string, lines []string) error {
				return try(s, draw.CodeImport{PoolID: pool, Skip: true}, lines)
			}
		}},
		"duplicates of one prize": {"passed over", func(s *stock.Store) importer {
			return func(pool string, lines []string) error {
				for i, line := range lines { // as if each prize had its own database
					lines[i] = line + " " + pool
				}
				return try(s, draw.CodeImport{PoolID: pool}, lines)
			}
		}},
		"line by line": {"left 3 codes", func(s *stock.Store) importer {
			return func(pool string, lines []string) error {
				for i := range lines {
					if err := try(s, draw.CodeImport{PoolID: pool}, lines[i:i+1]); err != nil {
						return fmt.Errorf("line %d: %w", i+1, err)
					}
				}
				return nil
			}
		}},
		"the code in the error": {"the error has the code", func(s *stock.Store) importer {
			return func(pool string, lines []string) error {
				if err := try(s, draw.CodeImport{PoolID: pool}, lines); err != nil {
					return fmt.Errorf("%w: one of %v", err, lines)
				}
				return nil
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := stocktest.New(t, "sqlite")
			faults := strings.Join(judgeImports(t, s, c.do(s)), "; ")
			if c.fault == "" {
				require.Empty(t, faults)
				return
			}
			require.Contains(t, faults, c.fault)
		})
	}
}
