package stocktest

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
)

// URL returns the URL of a new, empty database of the given dialect.
func URL(tb testing.TB, dialect string) string {
	tb.Helper()
	switch dialect {
	case "sqlite":
		return "sqlite:" + filepath.Join(tb.TempDir(), "draws.db")
	case "postgres":
		return servertest.Postgres(tb)
	case "mysql":
		return servertest.MySQL(tb)
	}
	tb.Fatalf("stocktest: a new dialect %q needs its throwaway server here", dialect)
	return ""
}

// Migrated returns the URL of a new, migrated database of the given dialect. If databases
// can be copied, one is migrated for the whole test process, because a migration takes
// longer than many tests. Tests of migrations begin with [URL].
func Migrated(tb testing.TB, dialect string) string {
	tb.Helper()
	switch dialect {
	case "sqlite":
		url := URL(tb, dialect)
		file, err := servertest.Once("a file of SQLite", migratedFile)
		require.NoError(tb, err)
		require.NoError(tb, os.WriteFile(strings.TrimPrefix(url, "sqlite:"), []byte(file), 0o600))
		return url
	case "postgres":
		return servertest.PostgresAs(tb, "migrated", migrate)
	}
	url := URL(tb, dialect)
	require.NoError(tb, migrate(url))
	return url
}

// migratedFile returns the content of a migrated SQLite file.
func migratedFile() (string, error) {
	folder, err := os.MkdirTemp("", "drawsvc-stocktest-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "draws.db")
	if err := migrate("sqlite:" + file); err != nil {
		return "", err
	}
	content, err := os.ReadFile(file)
	return string(content), err
}

func migrate(url string) error {
	ctx := context.Background()
	s, err := stock.Open(ctx, url, stock.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return errors.Join(s.Migrate(ctx), s.Close())
}

// Open opens the database that url names, migrates it if necessary, and closes it when
// the test ends.
func Open(tb testing.TB, url string, o stock.Options) *stock.Store {
	tb.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.SealKeys == nil {
		o.SealKeys = SealKeys(tb, "k1")
	}
	s, err := stock.Open(tb.Context(), url, o)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	require.NoError(tb, s.Migrate(tb.Context()))
	return s
}

// New opens a new, empty, migrated store of the given dialect.
func New(tb testing.TB, dialect string) *stock.Store {
	tb.Helper()
	return Open(tb, Migrated(tb, dialect), stock.Options{})
}

// Pool creates a pool whose prizes p0, p1 … have the given stock.
func Pool(tb testing.TB, s *stock.Store, id string, stocked ...int64) {
	tb.Helper()
	p := draw.Pool{ID: id, Name: "Pool " + id}
	for i, n := range stocked {
		name := string(rune('a' + i))
		p.Prizes = append(p.Prizes, draw.Prize{ID: name, Name: "Prize " + name, Value: decimal.New(1990, -2), Stocked: n})
	}
	_, err := s.CreatePool(tb.Context(), p, "test")
	require.NoError(tb, err)
}

// Plan returns a plan of draws that each get one unit of the same prize. from is the
// version at which the plan is made, and issued is the number of units of the prize that
// were given before.
func Plan(poolID string, from int64, prizeID string, issued int64, drawIDs ...string) *urn.Plan {
	p := &urn.Plan{PoolID: poolID, From: draw.Head{Version: from}, Raises: []urn.Raise{{PrizeID: prizeID, Issued: int64(len(drawIDs))}}}
	for i, id := range drawIDs {
		n := int64(i) + 1
		p.Awards = append(p.Awards, draw.Award{
			Version: from + n, DrawID: id, Ordinal: 1, UserID: "u", PrizeID: prizeID, Unit: issued + n,
			At: time.Now().UTC().Truncate(time.Microsecond),
		})
	}
	return p
}

// On makes a plan as if it came from an urn that was read: it sets the urn's
// mark, and keeps the plan's own version.
func On(urn *urn.Urn, p *urn.Plan) *urn.Plan {
	p.From.Mark, p.From.Trail = urn.Mark, urn.Trail
	p.To = p.From.Next(len(p.Awards))
	return p
}

// Write reads the pool and writes the plan, in one attempt.
func Write(tb testing.TB, s *stock.Store, o stock.TxOptions, p *urn.Plan) error {
	tb.Helper()
	return writeOn(tb, s, urn.NewUrn(p.PoolID), o, p)
}

// NoViolations audits the pool, and fails the test if there are violations.
func NoViolations(tb testing.TB, s *stock.Store, poolID string) draw.Audit {
	tb.Helper()
	a, err := s.Audit(tb.Context(), poolID)
	require.NoError(tb, err)
	require.Empty(tb, a.Violations)
	return a
}

// ExecAll runs statements on the database.
func ExecAll(t *testing.T, s *stock.Store, statements []string) {
	t.Helper()
	for _, statement := range statements {
		_, err := s.LockDB().ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
}
