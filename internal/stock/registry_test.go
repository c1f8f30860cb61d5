package stock

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/mysql"
	"drawsvc/internal/stock/tidb"
)

// TestEveryDatabaseStatesItsLocksAndDoctor: each database has its own locks and check-up.
func TestEveryDatabaseStatesItsLocksAndDoctor(t *testing.T) {
	all := slices.Collect(maps.Values(dialects()))
	for of, some := range variants() {
		require.Contains(t, dialects(), of)
		for _, d := range some {
			require.NotEmpty(t, d.VersionPart, d.Name)
			require.NotEmpty(t, d.Variable, d.Name)
			all = append(all, d)
		}
	}
	for _, d := range all {
		require.NotNil(t, d.Locks.Table, d.Name)
		require.Equal(t, d.Name, d.Locks.Database)
		require.NotNil(t, d.Doctor.Vitals, d.Name)
		require.NotEmpty(t, d.Doctor.Rules(), d.Name)
	}
}

// TestTiDBIsRecognized: TiDB is recognized by its version or by a variable that only TiDB
// has, because an operator may have set MySQL's version. No other server is taken for
// TiDB. The broken double checks only the version.
func TestTiDBIsRecognized(t *testing.T) {
	double := tidb.Dialect()
	double.Variable = "version_of_no_server"
	for version, is := range map[string]struct{ tidb, byVersion bool }{
		"8.0.11-TiDB-v8.5.1": {true, true}, "8.0.36": {true, false}, "8.4.3": {}, "11.8.3-MariaDB-0+deb13u1 from Debian": {}, "": {},
	} {
		variables := map[string]string{"version": version}
		if is.tidb && !is.byVersion {
			variables["tidb_txn_mode"] = ""
		}
		found := variantOf(variants()["mysql"], variables)
		require.Equal(t, is.tidb, found != nil, version)
		if is.tidb {
			require.Equal(t, "tidb", found.Name)
		}
		require.Equal(t, is.byVersion, variantOf([]*engine.Dialect{double}, variables) != nil, version)
	}
}

// TestVariantIsReadFromTheServer: a server that has the variable of a variant is that
// variant, whatever its version is. Any other server is the database that its URL names.
func TestVariantIsReadFromTheServer(t *testing.T) {
	d := mysql.Dialect()
	d.Features = &engine.Features{}
	e, err := d.Open(t.Context(), d, servertest.MySQL(t), engine.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	var version string
	require.NoError(t, e.Read.QueryRowContext(t.Context(), `SELECT VERSION()`).Scan(&version))
	for variable, has := range map[string]bool{"lower_case_table_names": true, "a_variable_of_no_server": false} {
		of := &engine.Dialect{Name: "other", VersionPart: "a version of no server", Variable: variable}
		variables, err := readSigns(t.Context(), e, []*engine.Dialect{of})
		require.NoError(t, err)
		require.Equal(t, version, variables["version"])
		require.Equal(t, has, variantOf([]*engine.Dialect{of}, variables) != nil, variable)
	}
	found, err := recognize(t.Context(), e)
	require.NoError(t, err)
	require.Equal(t, strings.Contains(version, "TiDB"), found != nil, "MariaDB stays MariaDB")
}
