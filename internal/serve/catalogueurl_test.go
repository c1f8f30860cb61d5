package serve

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPlainCatalogueWarns: a warning is logged only for a catalogue that comes from
// another machine by unencrypted HTTP.
func TestPlainCatalogueWarns(t *testing.T) {
	t.Parallel()
	for source, warns := range map[string]bool{
		"http://shop.example/prizes.json": true, "http://10.0.0.7/": true,
		"https://shop.example/prizes.json": false, "http://127.0.0.1:8000/": false, "http://localhost/": false, "": false,
	} {
		var out bytes.Buffer
		(&jobFlags{catalogueURL: source}).warn(slog.New(slog.NewTextHandler(&out, nil)))
		require.Equal(t, warns, bytes.Contains(out.Bytes(), []byte("without encryption")), source)
	}
}
