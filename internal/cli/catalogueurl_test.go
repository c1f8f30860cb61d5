package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/checkup"
	"drawsvc/internal/stock/stocktest"
)

// TestDoctorWarnsOfAPlainCatalogue: the doctor warns of a catalogue that comes from
// another machine over http, and of no other catalogue. The broken double is a doctor
// that checks only the links to the database and the lock.
func TestDoctorWarnsOfAPlainCatalogue(t *testing.T) {
	t.Parallel()
	p := on(t, stocktest.Migrated(t, "sqlite"))
	for source, host := range map[string]string{
		"http://shop.example/prizes.json": "shop.example", "http://ann:secret@10.0.0.7/": "10.0.0.7",
		"https://shop.example/prizes.json": "", "http://127.0.0.1:8000/": "", "http://localhost/": "", "": "",
	} {
		p.vars["DRAWSVC_CATALOGUE_URL"] = source
		o := p.run("doctor")
		require.Equal(t, exitOK, o.code, o.message)
		require.NotContains(t, o.stdout, "secret")
		warning := "warning: no-tls: the catalogue at " + host + " is fetched without TLS\n"
		require.Equal(t, host != "", strings.Contains(o.stdout, warning), "%s: %s", source, o.stdout)
		require.Empty(t, checkup.Links(p.vars["DRAWSVC_DATABASE"], "table:", "table:"), "the double")
	}
}
