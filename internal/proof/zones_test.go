package proof

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw/rules"
)

// TestVerifiersSayTheirZones: both verifiers report the release of the time zones that
// they use, and the one that the folder names. No finding depends on the file, whatever
// it contains. The broken double depends on it, and refuses folders without it.
func TestVerifiersSayTheirZones(t *testing.T) {
	t.Parallel()
	files := lived(t, 20, 3).publishAll()
	judging := func(files fstest.MapFS) bool {
		return (&verifier{files: files}).zones() == rules.ZoneRelease
	}
	require.False(t, judging(files), "the double")
	for content, named := range map[string]string{
		"": "", rules.ZoneRelease + "\n": rules.ZoneRelease, "2099b\n": "2099b", "2099b": "2099b", "2099b\n\n": "", "\x1b[31m": "", strings.Repeat("2", NoteMax+1): "",
	} {
		changed := clone(files)
		if content != "" {
			changed["zones"] = &fstest.MapFile{Data: []byte(content)}
		}
		r := verified(t, changed, VerifyOptions{})
		require.True(t, r.OK, r.Detail)
		require.Equal(t, rules.ZoneRelease, r.Zones)
		require.Equal(t, named, r.FolderZones, "%.20q", content)

		folder := folderOf(t, changed)
		code, said := secondPrints(t, folder)
		require.Zero(t, code, said)
		require.Regexp(t, `^time zones: ([0-9]{4}[a-z]+|those) of \S`, said[0])
		require.Equal(t, named != "" && !strings.Contains(said[0], ": "+named+" of "), strings.HasSuffix(said[0], "; the folder names "+named), said[0])
		code, said = secondPrints(t, folder, "--output", "json")
		require.Zero(t, code, said)
		var report struct {
			Zones, FolderZones string
		}
		require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(said[0], "folder_zones", "FolderZones")), &report))
		require.Equal(t, named, report.FolderZones)
		require.True(t, report.Zones == "" || rules.IsZoneRelease(report.Zones), report.Zones)
	}
	out := filepath.Join(t.TempDir(), "elsewhere")
	require.NoError(t, os.WriteFile(out, Zones(), 0o600))
	folder := folderOf(t, files)
	require.NoError(t, os.Symlink(out, filepath.Join(folder, "zones")))
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	defer root.Close()
	r, err := Verify(root.FS(), VerifyOptions{})
	require.NoError(t, err)
	require.True(t, r.OK, r.Detail)
	require.Empty(t, r.FolderZones, "a link that leaves the folder")
	code, said := secondPrints(t, folder)
	require.Zero(t, code)
	require.NotContains(t, said[0], "the folder")
}
