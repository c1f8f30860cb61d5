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

const (
	units    = "deploy/systemd"
	unitFile = units + "/drawsvc.service"
)

// exposureMax is the maximum exposure that `systemd-analyze security` may report. A unit
// without any protection has 10.
const exposureMax = 1.5

var exposure = regexp.MustCompile(`Overall exposure level for drawsvc[a-z-]*.service: ([0-9.]+)`)

// services returns the names of the units that start a program.
func services(t *testing.T) (names []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, units, "*.service"))
	require.NoError(t, err)
	require.Len(t, found, 4)
	for _, file := range found {
		names = append(names, filepath.Base(file))
	}
	return names
}

// written writes units into a new folder, with the path of the program that the test
// built, and returns the folder.
func written(t *testing.T, texts map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range texts {
		text = strings.ReplaceAll(text, "/usr/bin/drawsvc ", program(t)+" ")
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return folder
}

// verified returns systemd's complaints about a unit.
func verified(t *testing.T, file string) string {
	t.Helper()
	needs(t, "systemd", "systemd-analyze")
	complaints, err := command(t, []string{"SYSTEMD_UNIT_PATH=" + filepath.Dir(file) + ":"}, "systemd-analyze", "verify", "--man=no", file)
	if err != nil {
		complaints += err.Error()
	}
	return complaints
}

// analysed writes a unit with the path of the built program, and checks the unit with
// systemd. It returns the complaints and the exposure.
func analysed(t *testing.T, name, unit string) (complaints string, level float64) {
	t.Helper()
	file := filepath.Join(written(t, map[string]string{name: unit}), name)
	complaints = verified(t, file)
	found := exposure.FindStringSubmatch(ok(t, nil, "systemd-analyze", "security", "--offline=true", file))
	require.NotNil(t, found)
	level, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return complaints, level
}

// walls returns the lines of a unit that restrict it.
func walls(unit string) string {
	_, after, _ := strings.Cut(unit, "\nNoNewPrivileges=")
	before, _, _ := strings.Cut(after, "\n[Install]")
	return strings.TrimSpace(before)
}

// TestUnits: systemd reads the units without complaint, and reports that they are well
// protected. All have the same restrictions.
func TestUnits(t *testing.T) {
	t.Parallel()
	for _, name := range services(t) {
		unit := read(t, filepath.Join(units, name))
		complaints, level := analysed(t, name, unit)
		require.Empty(t, complaints, name)
		require.LessOrEqual(t, level, exposureMax, name)
		require.Equal(t, walls(read(t, unitFile)), walls(unit), name)
		for setting, value := range map[string]string{"DynamicUser": "yes", "User": "drawsvc", "SupplementaryGroups": "drawsvc-secrets"} {
			require.Equal(t, value, settings(unit)[setting], name)
		}
	}
	require.Equal(t, "notify", settings(read(t, unitFile))["Type"])
	require.Contains(t, read(t, units+"/sysusers.conf"), "\ng drawsvc-secrets -\n")
}

// TestUnitIsCaught: the test detects a misspelt setting, and a unit without restrictions.
func TestUnitIsCaught(t *testing.T) {
	t.Parallel()
	unit := read(t, unitFile)
	complaints, _ := analysed(t, "drawsvc.service", strings.Replace(unit, "ProtectHome=", "ProtectHme=", 1))
	require.Contains(t, complaints, "ProtectHme")
	complaints, _ = analysed(t, "drawsvc.service", strings.Replace(unit, "Type=notify", "Type=notifies", 1))
	require.Contains(t, complaints, "notifies")
	_, level := analysed(t, "drawsvc.service", regexp.MustCompile(`(?m)^(Protect|SystemCall|Restrict).*$`).ReplaceAllString(unit, ""))
	require.Greater(t, level, exposureMax)
}

// TestTimer: systemd reads the timer of backups, and the unit that it starts, without
// complaint.
func TestTimer(t *testing.T) {
	t.Parallel()
	const name, service = "drawsvc-backup.timer", "drawsvc-backup.service"
	texts := map[string]string{name: read(t, filepath.Join(units, name)), service: read(t, filepath.Join(units, service))}
	require.Empty(t, verified(t, filepath.Join(written(t, texts), name)))
	texts[name] = strings.Replace(texts[name], "OnCalendar=*:0/10", "OnCalendar=now and then", 1)
	require.Contains(t, verified(t, filepath.Join(written(t, texts), name)), "now and then")
}

// settings returns the lines NAME=VALUE of a unit or of a file of variables; a later
// line overrides an earlier one.
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

// valuesOf returns the values of a setting that may occur several times in a unit.
func valuesOf(unit, setting string) (values []string) {
	for line := range strings.Lines(unit) {
		if value, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), setting+"="); is {
			values = append(values, value)
		}
	}
	return values
}

// argument matches a word of a command in a unit, with or without quotes.
var argument = regexp.MustCompile(`'[^']*'|\S+`)

// commandOf returns the command of a unit, as systemd reads it.
func commandOf(unit, setting string, variables map[string]string) (argv []string) {
	for _, word := range argument.FindAllString(settings(unit)[setting], -1) {
		word = strings.NewReplacer("$$", "$", "%%", "%").Replace(strings.Trim(word, "'"))
		for name, value := range variables {
			word = strings.ReplaceAll(word, "${"+name+"}", value)
		}
		argv = append(argv, word)
	}
	return argv
}
