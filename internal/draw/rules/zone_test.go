package rules_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

// foreignZones sets $ZONEINFO to files in which Europe/Berlin is the zone of Tokyo, and
// America/Coyhaiquex exists.
func foreignZones(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	tokyo, err := os.ReadFile("testdata/Tokyo")
	require.NoError(t, err)
	for _, name := range []string{"Europe/Berlin", "America/Coyhaiquex"} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, tokyo, 0o600))
	}
	t.Setenv("ZONEINFO", dir)
}

// TestZonesAreEmbedded: no window depends on the files of a machine.
func TestZonesAreEmbedded(t *testing.T) {
	foreignZones(t)
	berlinOf := func(load func(string) (*time.Location, error)) string {
		zone, err := load("Europe/Berlin")
		require.NoError(t, err)
		return time.Date(2026, 11, 24, 0, 0, 0, 0, zone).UTC().Format(time.RFC3339)
	}
	require.Equal(t, "2026-11-23T23:00:00Z", berlinOf(rules.ParseZone))
	_, err := rules.ParseZone("America/Coyhaiquex")
	require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "%v", err)

	// The broken double: Go's own function reads the files of the machine first.
	if _, err := time.LoadLocation("America/Coyhaiquex"); err != nil {
		t.Skip("SKIPPED: Go read $ZONEINFO before this test set it")
	}
	require.Equal(t, "2026-11-23T15:00:00Z", berlinOf(time.LoadLocation))
}

func TestIsZoneRelease(t *testing.T) {
	for text, is := range map[string]bool{rules.ZoneRelease: true, "1996aa": true, "": false, "2025": false, "c": false, "2025C": false, "2025c\n": false, "2025abc": false, "x025c": false} {
		require.Equal(t, is, rules.IsZoneRelease(text), "%q", text)
	}
}

// TestZoneRelease: the embedded archive is of the stated release.
func TestZoneRelease(t *testing.T) {
	archive, err := os.ReadFile("zoneinfo.zip")
	require.NoError(t, err)
	sum := sha256.Sum256(archive)
	require.Equal(t, "2025c 8f55634d05f8bca1f7bc7c69c5933428c69357e0bdf565e5ba224e3f88ff12e8", rules.ZoneRelease+" "+hex.EncodeToString(sum[:]))
	for _, name := range []string{"UTC", "Europe/Kyiv", "America/Ciudad_Juarez", "America/Coyhaique"} {
		zone, err := rules.ParseZone(name)
		require.NoError(t, err)
		require.Equal(t, name, zone.String())
	}
}
