package servertest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// sharing returns, for each kind, the function that gives a test its part of a shared
// server.
func sharing() map[string]func(testing.TB) string {
	return map[string]func(testing.TB) string{
		"postgres": Postgres, "mysql": MySQL, "redis": Redis, "zookeeper": ZooKeeper, "etcd": Etcd,
	}
}

func TestSharedServerIsStartedOnce(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind, func(t *testing.T) {
			share := sharing()[kind]
			require.NotNil(t, share)
			first, second := share(t), share(t)
			require.Equal(t, hostOf(t, first), hostOf(t, second))
			if kind != "etcd" { // etcd has no separate parts
				require.NotEqual(t, first, second)
			}
		})
	}
}

func TestSharedServerMayBeNamed(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind, func(t *testing.T) {
			s := Start(t, kind)
			t.Setenv(s.kind.variable, s.URL())
			require.Equal(t, s.Addr(), hostOf(t, sharing()[kind](t)))
		})
	}
}

func TestRunningServersCostOneKnownGoroutine(t *testing.T) {
	before := goleak.IgnoreCurrent()
	for _, share := range sharing() {
		share(t)
	}
	s := Start(t, "redis")
	StartProxy(t, s.Addr()).Cut()
	goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("drawsvc/internal/servertest.(*process).keep"))
}

func TestPostgresDatabasesAreApart(t *testing.T) {
	first, second := Postgres(t), Postgres(t)
	require.NoError(t, executePostgres(t.Context(), first, "CREATE TABLE fact (answer int)"))
	require.NoError(t, executePostgres(t.Context(), second, "CREATE TABLE fact (answer int)"))

	var dropped string
	var open *pgx.Conn
	t.Run("with a connection left open", func(t *testing.T) {
		dropped = Postgres(t)
		conn, err := pgx.Connect(t.Context(), dropped)
		require.NoError(t, err)
		open = conn
	})
	defer func() { _ = open.Close(context.Background()) }()
	require.Error(t, executePostgres(t.Context(), dropped, "SELECT 1"), "dropped with its test")
}

// TestPostgresCopiesAreSeparate: each copy contains what fill wrote, and is a separate
// database. On a server that the environment names, no template remains.
func TestPostgresCopiesAreSeparate(t *testing.T) {
	filled := 0
	fill := func(url string) error {
		filled++
		return executePostgres(context.Background(), url, "CREATE TABLE fact (answer int)")
	}
	first, second := PostgresAs(t, "filled", fill), PostgresAs(t, "filled", fill)
	require.LessOrEqual(t, filled, 1, "once for this process")
	require.NoError(t, executePostgres(t.Context(), first, "DROP TABLE fact"))
	require.NoError(t, executePostgres(t.Context(), second, "SELECT answer FROM fact"))

	s := Start(t, "postgres")
	t.Setenv(s.kind.variable, s.URL())
	filled = 0
	for range 2 {
		url := PostgresAs(t, "filled", fill)
		require.Equal(t, s.Addr(), hostOf(t, url))
		require.NoError(t, executePostgres(t.Context(), url, "SELECT answer FROM fact"))
	}
	require.Equal(t, 2, filled)
}

// TestServersOfTestsAreSeparate: each server begins with a separate copy of the data.
func TestServersOfTestsAreSeparate(t *testing.T) {
	t.Parallel()
	for kind, execute := range map[string]func(ctx context.Context, base, statement string) error{"postgres": executePostgres, "mysql": executeMySQL} {
		one, other := Start(t, kind), Start(t, kind, Durable())
		require.NoError(t, execute(t.Context(), one.URL(), "CREATE TABLE fact (answer int)"))
		require.Error(t, execute(t.Context(), other.URL(), "SELECT answer FROM fact"), kind)
		require.NoError(t, execute(t.Context(), other.URL(), "CREATE TABLE fact (answer int)"), kind)
	}
}

func TestMySQLDatabasesAreApart(t *testing.T) {
	first, second := MySQL(t), MySQL(t)
	require.NoError(t, executeMySQL(t.Context(), first, "CREATE TABLE fact (answer int)"))
	require.NoError(t, executeMySQL(t.Context(), second, "CREATE TABLE fact (answer int)"))

	var dropped string
	t.Run("for a while", func(t *testing.T) { dropped = MySQL(t) })
	require.Error(t, executeMySQL(t.Context(), dropped, "SELECT 1"), "dropped with its test")
}

func TestRedisDatabasesAreApart(t *testing.T) {
	client := func(location string) *redis.Client {
		options, err := redis.ParseURL(location)
		require.NoError(t, err)
		client := redis.NewClient(options)
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	first := client(Redis(t))
	require.NoError(t, first.Set(t.Context(), "fact", 42, 0).Err())
	require.ErrorIs(t, client(Redis(t)).Get(t.Context(), "fact").Err(), redis.Nil)

	var after *redis.Client
	t.Run("for a while", func(t *testing.T) {
		after = client(Redis(t))
		require.NoError(t, after.Set(t.Context(), "fact", 42, 0).Err())
	})
	require.ErrorIs(t, after.Get(t.Context(), "fact").Err(), redis.Nil, "emptied with its test")
	require.NoError(t, first.Get(t.Context(), "fact").Err(), "and no other")
}

func TestDatabasesAreQuicklyMade(t *testing.T) {
	for name, share := range map[string]func(testing.TB) string{"postgres": Postgres, "mysql": MySQL} {
		first := share(t) // the measurement excludes the start of the server
		quickest := time.Hour
		for range 5 { // a busy machine affects the shortest time least
			start := time.Now()
			require.Equal(t, hostOf(t, first), hostOf(t, share(t)), "no further server")
			quickest = min(quickest, time.Since(start))
		}
		// In memory a copy takes tens of milliseconds. The limit is higher for slow disks.
		require.Less(t, quickest, 2*time.Second, name)
	}
}

func hostOf(t *testing.T, location string) string {
	t.Helper()
	parsed, err := url.Parse(location)
	require.NoError(t, err)
	return parsed.Host
}

func openMySQL(t *testing.T, location string) *sql.DB {
	t.Helper()
	parsed, err := url.Parse(location)
	require.NoError(t, err)
	db, err := sql.Open("mysql", fmt.Sprintf("%s@tcp(%s)%s", parsed.User, parsed.Host, parsed.Path))
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}
