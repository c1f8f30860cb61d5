package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const unitFile = "deploy/systemd/drawsvc.service"

// exposureMax is the highest exposure that `systemd-analyze security` may see; 10 is a
// unit without any protection.
const exposureMax = 1.5

var exposure = regexp.MustCompile(`Overall exposure level for drawsvc.service: ([0-9.]+)`)

// analysed writes a unit whose program is there and has systemd read it. It returns the
// complaints, and the exposure.
func analysed(t *testing.T, unit string) (complaints string, level float64) {
	t.Helper()
	needs(t, "systemd", "systemd-analyze")
	file := filepath.Join(t.TempDir(), "drawsvc.service")
	unit = strings.Replace(unit, "/usr/bin/drawsvc ", program(t)+" ", 1)
	require.NoError(t, os.WriteFile(file, []byte(unit), 0o600))
	complaints, err := command(t, nil, "systemd-analyze", "verify", "--man=no", file)
	if err != nil {
		complaints += err.Error()
	}
	found := exposure.FindStringSubmatch(ok(t, nil, "systemd-analyze", "security", "--offline=true", file))
	require.NotNil(t, found)
	level, err = strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return complaints, level
}

// TestUnit: systemd reads the unit without complaint, and finds it well protected.
func TestUnit(t *testing.T) {
	t.Parallel()
	complaints, level := analysed(t, read(t, unitFile))
	require.Empty(t, complaints)
	require.LessOrEqual(t, level, exposureMax)
	require.Equal(t, "notify", settings(read(t, unitFile))["Type"])
}

// TestUnitIsCaught: a misspelt setting, and a unit without its walls.
func TestUnitIsCaught(t *testing.T) {
	t.Parallel()
	unit := read(t, unitFile)
	complaints, _ := analysed(t, strings.Replace(unit, "ProtectHome=", "ProtectHme=", 1))
	require.Contains(t, complaints, "ProtectHme")
	complaints, _ = analysed(t, strings.Replace(unit, "Type=notify", "Type=notifies", 1))
	require.Contains(t, complaints, "notifies")
	_, level := analysed(t, regexp.MustCompile(`(?m)^(Protect|SystemCall|Restrict).*$`).ReplaceAllString(unit, ""))
	require.Greater(t, level, exposureMax)
}

// settings are the lines NAME=VALUE of a unit or of a file of variables; a later one
// wins.
func settings(text string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, is := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if is && !strings.HasPrefix(name, "#") {
			found[name] = value
		}
	}
	return found
}
