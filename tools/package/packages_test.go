package packaging

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// installed is the Debian package, installed below its own root, with a dpkg database
// there that lists the package.
type installed struct {
	t            *testing.T
	root, status string
}

// install installs the package with dpkg below a new root. The new root has no shell, so
// the package's scripts run outside it; they do not change this system's systemd.
func install(t *testing.T) *installed {
	t.Helper()
	needs(t, "dpkg", "dpkg")
	if os.Getuid() != 0 {
		servertest.Missing(t, "the rights of root, which dpkg needs")
	}
	i := &installed{t: t, root: t.TempDir(), status: t.TempDir()}
	for _, folder := range []string{"info", "updates", "triggers"} {
		require.NoError(t, os.Mkdir(filepath.Join(i.status, folder), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(i.status, "status"), nil, 0o600))
	packages, err := filepath.Glob(filepath.Join(dist(t), "*.deb"))
	require.NoError(t, err)
	require.Len(t, packages, 1)
	i.dpkg("--install", packages[0])
	return i
}

func (i *installed) dpkg(args ...string) string {
	i.t.Helper()
	all := []string{"--instdir=" + i.root, "--admindir=" + i.status, "--log=" + filepath.Join(i.status, "log"), "--force-script-chrootless"}
	return ok(i.t, nil, "dpkg", append(all, args...)...)
}

func (i *installed) path(absolute string) string { return filepath.Join(i.root, absolute) }

// TestDebianPackage installs the package, starts the unit's command with the settings
// of the package, draws once, and removes the package: settings and data stay.
func TestDebianPackage(t *testing.T) {
	t.Parallel()
	i := install(t)
	environment := i.path("/etc/drawsvc/drawsvc.env")
	info, err := os.Stat(environment)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm(), "it may hold secrets")
	unit := i.unit("drawsvc.service")
	require.Equal(t, environment, i.path(settings(unit)["EnvironmentFile"]))
	info, err = os.Stat(i.path("/etc/drawsvc/secrets"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o750), info.Mode().Perm())
	require.Equal(t, "drawsvc "+testVersion, strings.Split(ok(t, nil, i.path("/usr/bin/drawsvc"), "version"), ",")[0])
	checkNotices(t, i.path("/usr/share/doc/drawsvc"))
	checkMaterials(t, i.path("/usr/share/doc/drawsvc/drawsvc.cdx.json"), i.path("/usr/bin/drawsvc"))

	state := i.path(settings(unit)["WorkingDirectory"])
	listen := servertest.FreeAddr(t)
	require.Equal(t, []string{"/usr/bin/drawsvc", "serve"}, commandOf(unit, "ExecStart", nil))
	begun := time.Now()
	service := i.begin("drawsvc.service", "127.0.0.1:8080", listen)
	service.answers("http://"+listen+"/readyz", 200)
	t.Logf("from the start to /readyz with a new SQLite file: %v", time.Since(begun))
	var admin, draw string
	until(t, service.ended, func() (isWhole bool) { // the lines are printed after the service has begun to listen, and may be incomplete
		_, after, _ := strings.Cut(service.output.String(), "admin token for this run: ")
		admin, _, _ = strings.Cut(after, "\n")
		_, after, _ = strings.Cut(service.output.String(), "draw token for this run: ")
		draw, _, isWhole = strings.Cut(after, "\n")
		return isWhole
	}, service.output.String)
	makePool(t, listen, admin)
	wins(t, listen, "p", "Authorization", "Bearer "+draw)
	i.backsUp()
	service.stop()

	i.dpkg("--remove", "drawsvc")
	require.NoFileExists(t, i.path("/usr/bin/drawsvc"))
	require.FileExists(t, environment, "settings are removed by purge alone")
	i.dpkg("--purge", "drawsvc")
	require.NoFileExists(t, environment)
	require.FileExists(t, filepath.Join(state, "drawsvc.db"), "promised prizes stay")
}

// unit returns a unit of the package.
func (i *installed) unit(name string) string {
	i.t.Helper()
	return readFile(i.t, i.path("/usr/lib/systemd/system/"+name))
}

// begin starts the command of a unit, with the variables of its files, in its folder.
// replaced are pairs: a text in the files, and its replacement on this machine.
func (i *installed) begin(name string, replaced ...string) *daemon {
	i.t.Helper()
	argv := commandOf(i.unit(name), "ExecStart", nil)
	return i.beginAs(name, argv, replaced...)
}

func (i *installed) beginAs(name string, argv []string, replaced ...string) *daemon {
	i.t.Helper()
	unit := i.unit(name)
	for folder := range strings.FieldsSeq(settings(unit)["StateDirectory"]) {
		require.NoError(i.t, os.MkdirAll(i.path("/var/lib/"+folder), 0o700))
	}
	here := strings.NewReplacer(append(replaced, "/var/lib/", i.path("/var/lib")+"/", "/etc/drawsvc/", i.path("/etc/drawsvc")+"/",
		"/usr/bin/drawsvc", i.path("/usr/bin/drawsvc"))...)
	variables := map[string]string{"PATH": os.Getenv("PATH")}
	for _, file := range valuesOf(unit, "EnvironmentFile") {
		path, optional := strings.CutPrefix(file, "-")
		if _, err := os.Stat(i.path(path)); err != nil && optional {
			continue
		}
		maps.Copy(variables, settings(readFile(i.t, i.path(path))))
	}
	var environment []string
	for name, value := range variables {
		environment = append(environment, name+"="+here.Replace(value))
	}
	for n, word := range argv {
		argv[n] = here.Replace(word)
	}
	return start(i.t, i.path(settings(unit)["WorkingDirectory"]), environment, argv[0], argv[1:]...)
}

// backsUp runs the backup unit. It must create one backup, and remove only backups that
// are older than the number of days in the unit.
func (i *installed) backsUp() {
	i.t.Helper()
	const name = "drawsvc-backup.service"
	folder := i.path("/var/lib/drawsvc-backup")
	require.NoError(i.t, os.Mkdir(folder, 0o700))
	for file, days := range map[string]int{"drawsvc-old.db": 4, "drawsvc-new.db": 1, "other.db": 4} {
		path := filepath.Join(folder, file)
		require.NoError(i.t, os.WriteFile(path, nil, 0o600))
		at := time.Now().AddDate(0, 0, -days)
		require.NoError(i.t, os.Chtimes(path, at, at))
	}
	i.begin(name).succeeds()
	days, _, _ := strings.Cut(strings.TrimPrefix(settings(i.unit(name))["Environment"], "DRAWSVC_X_BACKUP_DAYS="), " ")
	i.beginAs(name, commandOf(i.unit(name), "ExecStartPost", map[string]string{"DRAWSVC_X_BACKUP_DAYS": days})).succeeds()
	found, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(i.t, err)
	require.Len(i.t, found, 3)
	require.NoFileExists(i.t, filepath.Join(folder, "drawsvc-old.db"))
	require.Regexp(i.t, `^drawsvc-\d{8}T\d{6}Z\.db$`, filepath.Base(found[0]))
	info, err := os.Stat(found[0])
	require.NoError(i.t, err)
	require.NotZero(i.t, info.Size())
}

// TestCampaignsUnitsStart starts the commands of the units for a campaign, with every
// file that the settings name: the migration, the service and the publisher.
func TestCampaignsUnitsStart(t *testing.T) {
	t.Parallel()
	i, c := install(t), newCampaign(t)
	c.write(i.path("/etc/drawsvc/secrets"))
	environment := i.path("/etc/drawsvc/drawsvc.env")
	text := strings.Replace(readFile(t, environment), "\nDRAWSVC_DATABASE=", "\n#DRAWSVC_DATABASE=", 1)
	text = regexp.MustCompile(`(?m)^#(\w+=/etc/drawsvc/secrets/(.*))$`).ReplaceAllStringFunc(text, func(line string) string {
		if _, err := os.Stat(i.path(strings.SplitAfter(line, "=")[1])); err != nil {
			return line // the line of another file, such as the other tokens
		}
		return line[1:]
	})
	require.NoError(t, os.WriteFile(environment, []byte(text), 0o600))
	i.begin("drawsvc-migrate.service").succeeds()
	listen := servertest.FreeAddr(t)
	service := i.begin("drawsvc.service", "127.0.0.1:8080", listen)
	address := front(t, listen, c.files["tls.crt"], c.own)
	service.answers("http://"+address+"/readyz", http.StatusOK)
	c.play(address)
	publisher := i.begin("drawsvc-publish.service", "127.0.0.1:9091", servertest.FreeAddr(t))
	c.ends(service, publisher)
	for path := range c.files {
		require.Regexp(t, `(?m)^\w+=/etc/drawsvc/secrets/`+regexp.QuoteMeta(path)+`$`, text)
	}
}

// TestManualAndCompletions: the package has the manual page of each command, as the
// program writes it, with the version but without the build time. It also has command
// completion for three shells.
func TestManualAndCompletions(t *testing.T) {
	t.Parallel()
	i := install(t)
	written := t.TempDir()
	date := strings.TrimSpace(ok(t, nil, "git", "log", "-1", "--format=%ct"))
	ok(t, []string{"SOURCE_DATE_EPOCH=" + date}, i.path("/usr/bin/drawsvc"), "man", "--dir", written)
	pages, err := filepath.Glob(filepath.Join(written, "*.1"))
	require.NoError(t, err)
	require.Greater(t, len(pages), 50)
	for _, page := range pages {
		want, err := os.ReadFile(page)
		require.NoError(t, err)
		packed, err := os.Open(i.path("/usr/share/man/man1/" + filepath.Base(page) + ".gz"))
		require.NoError(t, err)
		unpacked, err := gzip.NewReader(packed)
		require.NoError(t, err)
		require.True(t, unpacked.ModTime.IsZero(), "the same source makes the same packages")
		have, err := io.ReadAll(unpacked)
		require.NoError(t, err)
		require.Equal(t, string(want), string(have), page)
		require.Contains(t, string(have), "drawsvc "+testVersion)
		require.NoError(t, packed.Close())
	}
	needs(t, "man-db", "man")
	require.Contains(t, ok(t, []string{"MANPATH=" + i.path("/usr/share/man"), "MANPAGER=cat"}, "man", "drawsvc-pool-close"), "--if-revision")
	for shell, path := range map[string]string{
		"bash": "/usr/share/bash-completion/completions/drawsvc",
		"zsh":  "/usr/share/zsh/vendor-completions/_drawsvc",
		"fish": "/usr/share/fish/vendor_completions.d/drawsvc.fish",
	} {
		have, err := os.ReadFile(i.path(path))
		require.NoError(t, err)
		require.Equal(t, strings.TrimSpace(ok(t, nil, i.path("/usr/bin/drawsvc"), "completion", shell)), strings.TrimSpace(string(have)), shell)
	}
	ok(t, nil, "bash", "-n", i.path("/usr/share/bash-completion/completions/drawsvc"))
}

// makePool creates the pool p, unless an earlier attempt has created it.
func makePool(t *testing.T, address, token string) {
	t.Helper()
	bearer := []string{"Authorization", "Bearer " + token}
	status, body := settled(t, "POST", "http://"+address+"/admin/pools",
		`{"id":"p","name":"P","prizes":[{"id":"g","name":"G","value":"1.00","stock":1000000}]}`, bearer...)
	require.Contains(t, []int{http.StatusCreated, http.StatusConflict}, status, body)
}

// TestPackagesHaveTheSame: the RPM contains the files of the Debian package, and has
// the requested version.
func TestPackagesHaveTheSame(t *testing.T) {
	t.Parallel()
	needs(t, "rpm", "rpm")
	paths, folders := map[string]bool{}, map[string]bool{}
	deb, err := filepath.Glob(filepath.Join(dist(t), "*.deb"))
	require.NoError(t, err)
	for line := range strings.Lines(ok(t, nil, "dpkg-deb", "--contents", deb[0])) {
		path := strings.TrimPrefix(strings.Fields(line)[5], ".")
		if folder, is := strings.CutSuffix(path, "/"); is {
			folders[folder] = true
			continue
		}
		paths[path] = true
	}
	rpm, err := filepath.Glob(filepath.Join(dist(t), "*.rpm"))
	require.NoError(t, err)
	files := strings.Fields(ok(t, nil, "rpm", "--query", "--list", "--package", rpm[0]))
	for _, file := range files {
		if folders[file] {
			continue
		}
		file = strings.Replace(file, "/zsh/site-functions/", "/zsh/vendor-completions/", 1) // zsh reads there on Debian
		require.True(t, paths[file], file)
		delete(paths, file)
	}
	require.Empty(t, paths)
	require.Equal(t, testVersion, ok(t, nil, "rpm", "--query", "--queryformat", "%{VERSION}", "--package", rpm[0]))
	require.Contains(t, ok(t, nil, "rpm", "--query", "--configfiles", "--package", rpm[0]), "/etc/drawsvc/drawsvc.env")
}

// TestRelease builds the files of a release in a fresh clone, only for this machine.
// Their checksums are right, and the program states the version and the commit. A tree
// with uncommitted changes, or a version without a section in the changelog, cannot be
// released.
func TestRelease(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "drawsvc")
	ok(t, nil, "git", "clone", "--quiet", ".", folder)
	key := filepath.Join(t.TempDir(), "key")
	ok(t, nil, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "release", "-f", key)
	variables := []string{"VERSION=" + testVersion, "PLATFORMS=linux/" + runtime.GOARCH}
	output, err := command(t, variables, filepath.Join(folder, "deploy/packages/release"))
	require.Error(t, err)
	require.Contains(t, output, "SIGNING_KEY")
	variables = append(variables, "SIGNING_KEY="+key)
	output, err = command(t, variables, filepath.Join(folder, "deploy/packages/release"))
	require.Error(t, err)
	require.Contains(t, output, "CHANGELOG.md has no section "+testVersion)

	changelog := filepath.Join(folder, "CHANGELOG.md")
	text, err := os.ReadFile(changelog)
	require.NoError(t, err)
	text = bytes.Replace(text, []byte("## Unreleased\n"), []byte("## Unreleased\n\n## "+testVersion+" - 2030-01-02\n"), 1)
	require.NoError(t, os.WriteFile(changelog, text, 0o600))
	ok(t, nil, "git", "-C", folder, "-c", "user.name=Anna", "-c", "user.email=anna@example.org", "commit", "--quiet", "--all", "--message", "Release")
	ok(t, variables, filepath.Join(folder, "deploy/packages/release"))
	files, err := filepath.Glob(filepath.Join(folder, "bin/release/*"))
	require.NoError(t, err)
	var kinds []string
	for _, file := range files {
		kinds = append(kinds, filepath.Ext(file))
	}
	require.ElementsMatch(t, []string{"", "", "", ".sig", ".json", ".deb", ".rpm", ".tgz"}, kinds, "program, checksums, notices, signature, bill of materials, packages, chart: %v", files)
	checkSignature(t, filepath.Join(folder, "bin/release/SHA256SUMS"), key+".pub")
	require.Empty(t, ok(t, nil, "env", "-C", filepath.Join(folder, "bin/release"), "sha256sum", "--check", "--quiet", "--strict", "SHA256SUMS"))
	commit := strings.TrimSpace(ok(t, nil, "git", "-C", folder, "rev-parse", "HEAD"))
	said := ok(t, nil, filepath.Join(folder, "bin/release/drawsvc-linux-"+runtime.GOARCH), "version", "--output", "json")
	require.Contains(t, said, `"`+testVersion+`"`)
	require.Contains(t, said, commit)

	require.NoError(t, os.WriteFile(filepath.Join(folder, "LICENSE"), nil, 0o600))
	output, err = command(t, variables, filepath.Join(folder, "deploy/packages/release"))
	require.Error(t, err)
	require.Contains(t, output, "not committed")
}

// TestProgramIsSmallAndStatic: the program is one file without a loader, smaller than
// 60 MB.
func TestProgramIsSmallAndStatic(t *testing.T) {
	t.Parallel()
	info, err := os.Stat(program(t))
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(60_000_000))
	t.Logf("%.1f MB", float64(info.Size())/1e6)
	file, err := elf.Open(program(t))
	require.NoError(t, err)
	defer file.Close()
	require.Nil(t, file.Section(".interp"), "a program with a loader needs a C library")
}
