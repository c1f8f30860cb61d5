package packaging

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// separator is the line between two notices; licences contain shorter such lines.
var separator = "\n" + strings.Repeat("=", 80)

// checkNotices checks the notices in a folder: each module of the program must have its
// heading, followed by some text of a licence.
func checkNotices(t *testing.T, folder string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "THIRD_PARTY_NOTICES"))
	require.NoError(t, err)
	require.Empty(t, missingNotices(t, string(text)))
}

// missingNotices lists the modules of the program for which a text has no notice.
func missingNotices(t *testing.T, text string) (missing []string) {
	t.Helper()
	info, err := buildinfo.ReadFile(program(t))
	require.NoError(t, err)
	for _, module := range info.Deps {
		_, after, has := strings.Cut(text, "\n"+module.Path+" "+module.Version+"\n")
		notice, _, _ := strings.Cut(after, separator)
		if !has || len(notice) < 200 {
			missing = append(missing, module.Path)
		}
	}
	return missing
}

// checkMaterials compares a bill of materials with the modules that the program
// contains.
func checkMaterials(t *testing.T, path, program string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var bill struct {
		BomFormat  string
		Components []struct{ PURL string }
	}
	require.NoError(t, json.Unmarshal(text, &bill))
	require.Equal(t, "CycloneDX", bill.BomFormat)
	has := map[string]bool{}
	for _, c := range bill.Components {
		has[c.PURL[:strings.IndexAny(c.PURL+"?", "?")]] = true
	}
	info, err := buildinfo.ReadFile(program)
	require.NoError(t, err)
	for _, module := range info.Deps {
		require.True(t, has["pkg:golang/"+module.Path+"@"+module.Version], "%s %s", module.Path, module.Version)
	}
}

// TestNoticesCatch: the test detects a text that lacks a module, or a module's licence.
func TestNoticesCatch(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	ok(t, nil, "deploy/packages/notices", folder)
	checkNotices(t, folder)
	text, err := os.ReadFile(filepath.Join(folder, "THIRD_PARTY_NOTICES"))
	require.NoError(t, err)
	const module = "github.com/go-sql-driver/mysql"
	before, after, _ := strings.Cut(string(text), "\n"+module+" ")
	_, next, _ := strings.Cut(after, separator)
	require.Equal(t, []string{module}, missingNotices(t, before+separator+next), "without the module")
	version, _, _ := strings.Cut(after, "\n")
	require.Equal(t, []string{module}, missingNotices(t, before+"\n"+module+" "+version+"\n"+separator+next), "without its licence")
}

// checkSignature verifies the signature of a file with the standard tool, as
// docs/install.md does. It also requires that verification fails for a changed file.
func checkSignature(t *testing.T, path, publicKey string) {
	t.Helper()
	key, err := os.ReadFile(publicKey)
	require.NoError(t, err)
	signers := filepath.Join(t.TempDir(), "allowed_signers")
	require.NoError(t, os.WriteFile(signers, append([]byte("release "), key...), 0o600))
	verify := "ssh-keygen -q -Y verify -f " + signers + " -I release -n file -s " + path + ".sig < " + path
	ok(t, nil, "sh", "-c", verify)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append([]byte("0"), text...), 0o600))
	_, err = command(t, nil, "sh", "-c", verify)
	require.Error(t, err)
	require.NoError(t, os.WriteFile(path, text, 0o600))
}
