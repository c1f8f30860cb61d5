package packaging

import (
	"archive/tar"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"drawsvc/internal/servertest"
)

// nonroot is the account of the base image.
const nonroot = 65532

// buildImage builds the image with ko on an empty base, from a registry that the test
// runs: the real base is in a remote registry.
func buildImage(t *testing.T) v1.Image {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	base := strings.TrimPrefix(server.URL, "http://") + "/base:nonroot"
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH, Config: v1.Config{User: "65532"}, RootFS: v1.RootFS{Type: "layers"},
	})
	require.NoError(t, err)
	reference, err := name.ParseReference(base)
	require.NoError(t, err)
	require.NoError(t, remote.Write(reference, image))
	folder, err := os.MkdirTemp("", "layout") // ko accepts no capital letters
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	ok(t, nil, "deploy/packages/notices", "cmd/drawsvc/kodata") // as `make image` does
	ok(t, []string{"KO_DEFAULTBASEIMAGE=" + base, "KO_DOCKER_REPO=example.org/drawsvc", "HOME=" + t.TempDir(), "GOPATH=" + goEnv(t, "GOPATH"), "GOCACHE=" + goEnv(t, "GOCACHE")},
		"go", "tool", "-modfile=tools/package/go.mod", "ko", "build", "--bare", "--push=false", "--oci-layout-path="+folder,
		"--platform=linux/"+runtime.GOARCH, "./cmd/drawsvc")
	index, err := layout.ImageIndexFromPath(folder)
	require.NoError(t, err)
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	built, err := index.Image(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	return built
}

func goEnv(t *testing.T, variable string) string {
	t.Helper()
	return strings.TrimSpace(ok(t, nil, "go", "env", variable))
}

// unpack writes the files of an image below a folder, which only root can change.
func unpack(t *testing.T, image v1.Image) (folder string) {
	t.Helper()
	folder = t.TempDir()
	require.NoError(t, os.Chmod(folder, 0o755))
	files := mutate.Extract(image)
	defer files.Close()
	for all := tar.NewReader(files); ; {
		header, err := all.Next()
		if errors.Is(err, io.EOF) {
			return folder
		}
		require.NoError(t, err)
		path := filepath.Join(folder, filepath.Clean("/"+header.Name))
		switch header.Typeflag {
		case tar.TypeDir:
			require.NoError(t, os.MkdirAll(path, 0o755))
		case tar.TypeReg:
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, header.FileInfo().Mode())
			require.NoError(t, err)
			_, err = io.Copy(file, all)
			require.NoError(t, err)
			require.NoError(t, file.Close())
		}
	}
}

// TestImage builds the image, and runs its program with the image's files as the root
// directory: it migrates, serves and draws. It uses the image's account, which cannot
// write to any of these files.
func TestImage(t *testing.T) {
	t.Parallel()
	image := buildImage(t)
	config, err := image.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, "65532", config.Config.User)
	require.Equal(t, []string{"/ko-app/drawsvc"}, config.Config.Entrypoint)
	require.Contains(t, strings.Join(config.Config.Env, " "), "/ko-app", "`drawsvc healthcheck` is found")
	if os.Getuid() != 0 {
		servertest.Missing(t, "the rights of root, which a root of its own needs")
	}
	folder := unpack(t, image)
	checkNotices(t, filepath.Join(folder, "var/run/ko"))
	attributes := &syscall.SysProcAttr{Chroot: folder, Credential: &syscall.Credential{Uid: nonroot, Gid: nonroot}}
	variables := []string{"DRAWSVC_DATABASE=" + servertest.Postgres(t)}
	migration := startAs(t, attributes, "/", variables, "/ko-app/drawsvc", "migrate", "up")
	migration.succeeds()
	listen := servertest.FreeAddr(t)
	service := startAs(t, attributes, "/", append(variables, "DRAWSVC_LISTEN="+listen, "DRAWSVC_ADMIN_TOKEN=an-admin-token-of-the-test"), "/ko-app/drawsvc", "serve")
	service.answers("http://"+listen+"/readyz", 200)
	service.healthy(func() *daemon {
		return startAs(t, attributes, "/", []string{"DRAWSVC_LISTEN=" + listen}, "/ko-app/drawsvc", "healthcheck")
	})
	makePool(t, listen, "an-admin-token-of-the-test")
	wins(t, listen, "p", "Authorization", "Bearer an-admin-token-of-the-test")
	service.stop()
}

// TestImagesAreTheSame: ko and the Dockerfile build with the same settings on the same
// base image, whose account is not root. The packages also contain a program built that
// way.
func TestImagesAreTheSame(t *testing.T) {
	t.Parallel()
	var ko struct {
		DefaultBaseImage string
		Builds           []struct{ Flags, Ldflags []string }
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, ".ko.yaml")), &ko))
	require.True(t, strings.HasSuffix(ko.DefaultBaseImage, ":nonroot"))
	docker := read(t, "deploy/image/Dockerfile")
	stages := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(docker, -1)
	require.Equal(t, ko.DefaultBaseImage, stages[len(stages)-1][1])
	flags := append(ko.Builds[0].Flags, strings.Join(ko.Builds[0].Ldflags, " "))
	for _, flag := range append(flags, "CGO_ENABLED=0") {
		require.Contains(t, docker, flag)
		require.Contains(t, read(t, "deploy/packages/build"), flag)
	}
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))[1]
	require.Equal(t, "golang:"+goVersion, stages[0][1])
}
