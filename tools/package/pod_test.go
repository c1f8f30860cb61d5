package packaging

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"

	"drawsvc/internal/servertest"
)

// secrets are the secrets of a cluster, by the name of the Secret and its key.
type secrets map[string]map[string]string

// mount writes the secrets of a volume into a folder, with the permissions that the pod
// requires, and returns the folder.
func (s secrets) mount(t *testing.T, volume core.Volume) string {
	t.Helper()
	folder := t.TempDir()
	write := func(secret string, items []core.KeyToPath, mode *int32) {
		require.NotEmpty(t, items)
		for _, item := range items {
			require.NotEmpty(t, s[secret][item.Key], "%s %s", secret, item.Key)
			file := filepath.Join(folder, item.Path)
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
			require.NoError(t, os.WriteFile(file, []byte(s[secret][item.Key]), 0o600))
			require.NoError(t, os.Chmod(file, os.FileMode(*mode)))
		}
	}
	if one := volume.Secret; one != nil {
		write(one.SecretName, one.Items, one.DefaultMode)
	}
	if several := volume.Projected; several != nil {
		for _, source := range several.Sources {
			write(source.Secret.Name, source.Secret.Items, several.DefaultMode)
		}
	}
	return folder
}

// run starts the container of a pod as a process, with its arguments and variables. Its
// volumes are folders of the test, and its ports are ports of this machine.
func run(t *testing.T, pod core.PodSpec, s secrets, ports map[string]string) *daemon {
	t.Helper()
	container := pod.Containers[0]
	replaced := []string{}
	for _, mount := range container.VolumeMounts {
		for _, volume := range pod.Volumes {
			if volume.Name == mount.Name {
				replaced = append(replaced, mount.MountPath+"/", s.mount(t, volume)+"/")
			}
		}
	}
	for _, port := range container.Ports {
		replaced = append(replaced, fmt.Sprintf("0.0.0.0:%d", port.ContainerPort), ports[port.Name])
	}
	var variables []string
	for _, v := range container.Env {
		variables = append(variables, v.Name+"="+strings.NewReplacer(replaced...).Replace(v.Value))
	}
	return start(t, t.TempDir(), variables, program(t), container.Args...)
}

// TestChartStarts starts the commands of the rendered pods: the migration, then the
// service, which answers the probes, draws, and ends within the grace period.
func TestChartStarts(t *testing.T) {
	t.Parallel()
	const admin, draw = "the-admin-token-of-the-test", "the-draw-token-of-the-test"
	tokens := map[string]string{"admin-token": admin, "draw-token": draw}
	database, redis := servertest.Postgres(t), servertest.Redis(t)
	for values, s := range map[string]secrets{
		"minimal-sqlite": {"drawsvc-tokens": tokens},
		"lock-redis":     {"drawsvc-tokens": tokens, "drawsvc-database": {"url": database}, "drawsvc-redis": {"url": redis}},
		"mysql": {
			"drawsvc-tokens": {"admin-token": admin}, "mysql": {"dsn": servertest.MySQL(t)}, "mysql-owner": {"dsn": ""},
		},
	} {
		if values == "mysql" {
			s["mysql-owner"] = s["mysql"]
		}
		t.Run(values, func(t *testing.T) {
			manifests, err := template(t, values, "shutdownDelaySeconds=1")
			require.NoError(t, err)
			for _, job := range ofKind[batch.Job](t, manifests, "Job") {
				migration := run(t, job.Spec.Template.Spec, s, nil)
				migration.succeeds()
			}
			pod := ofKind[apps.Deployment](t, manifests, "Deployment")[0].Spec.Template.Spec
			warned := true
			for range 3 { // a busy machine causes a warning too, but not at each start
				ports := map[string]string{"http": servertest.FreeAddr(t), "metrics": servertest.FreeAddr(t)}
				service := run(t, pod, s, ports)
				c := pod.Containers[0]
				for _, probe := range []*core.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
					service.answers("http://"+ports[probe.HTTPGet.Port.StrVal]+probe.HTTPGet.Path, 200)
				}
				makePool(t, ports["http"], admin)
				wins(t, ports["http"], "p", "Authorization", "Bearer "+draw)
				service.stop()
				t.Log(service.output)
				if warned = strings.Contains(service.output.String(), `"level":"WARN"`); !warned {
					break
				}
			}
			require.False(t, warned, "a warning at each start is never read")
		})
	}
}
