package packaging

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"drawsvc/internal/servertest"
)

const compose = "deploy/compose"

// project returns the compose file as docker compose reads it, merged with further files.
// It also returns the folder of secrets that make-secrets creates for the test.
func project(t *testing.T, further ...string) (p *types.Project, secrets string) {
	t.Helper()
	folder := t.TempDir()
	for range 2 { // the second call keeps the existing files
		ok(t, nil, filepath.Join(compose, "make-secrets"), folder)
	}
	variables := settings(readFile(t, filepath.Join(folder, ".env")))
	require.NotRegexp(t, `^0:|^$`, variables["DRAWSVC_USER"])
	working, err := filepath.Abs(filepath.Join(root, compose))
	require.NoError(t, err)
	details := types.ConfigDetails{WorkingDir: working, Environment: variables}
	for _, file := range append([]string{"compose.yaml"}, further...) {
		details.ConfigFiles = append(details.ConfigFiles, types.ConfigFile{Filename: filepath.Join(working, file)})
	}
	p, err = loader.LoadWithContext(t.Context(), details)
	require.NoError(t, err)
	return p, filepath.Join(folder, "secrets")
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// TestComposeFile: in the file as docker compose reads it, every mounted file exists,
// every instance has its restrictions, and no port is open to other machines.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	p, _ := project(t)
	require.Len(t, p.Services, 8)
	for name, service := range p.Services {
		for _, port := range service.Ports {
			require.Equal(t, "127.0.0.1", port.HostIP, name)
		}
		for _, volume := range service.Volumes {
			if volume.Type == types.VolumeTypeBind {
				require.FileExists(t, volume.Source)
			}
		}
		if strings.HasPrefix(name, "drawsvc-") || name == "migrate" {
			require.True(t, service.ReadOnly, name)
			require.Equal(t, []string{"ALL"}, service.CapDrop, name)
			require.Contains(t, service.SecurityOpt, "no-new-privileges:true", name)
			require.FileExists(t, filepath.Join(service.Build.Context, service.Build.Dockerfile))
		}
	}
	for name, others := range map[string][]string{"postgres": {"proxy", "prometheus", "grafana"}, "proxy": {"postgres", "grafana"}} {
		for _, other := range others {
			for network := range p.Services[name].Networks {
				require.NotContains(t, p.Services[other].Networks, network, "%s reaches %s", other, name)
			}
		}
	}
	trusted := *p.Services["drawsvc-1"].Environment["DRAWSVC_TRUSTED_PROXIES"]
	require.Equal(t, trusted, p.Networks["callers"].Ipam.Config[0].Subnet)
	// Without the account of the secrets, the start fails with instructions.
	_, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: p.WorkingDir, ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(p.WorkingDir, "compose.yaml")}},
	})
	require.ErrorContains(t, err, "make-secrets")
}

// site has the services of the compose file as processes of this machine.
type site struct {
	t       *testing.T
	project *types.Project
	secrets string
	// replaced are pairs: a text in the files, and its replacement on this machine.
	replaced  []string
	instances []string
}

func (s *site) here(text string) string { return strings.NewReplacer(s.replaced...).Replace(text) }

// run starts the command of a service as a process.
func (s *site) run(name string, others ...string) *daemon {
	s.t.Helper()
	service := s.project.Services[name]
	var variables []string
	for variable, value := range service.Environment {
		if value != nil { // nil: the value comes from docker compose's environment
			variables = append(variables, variable+"="+strings.NewReplacer(others...).Replace(s.here(*value)))
		}
	}
	return start(s.t, s.t.TempDir(), variables, program(s.t), service.Command...)
}

// TestComposeRuns runs the commands of the compose file as processes: the migration once,
// then three instances. The committed nginx is in front of them, and the committed
// Prometheus scrapes them. PostgreSQL is one of this machine, not the one of the image.
func TestComposeRuns(t *testing.T) {
	t.Parallel()
	needs(t, "nginx-light prometheus", "/usr/sbin/nginx", "prometheus", "promtool")
	s := &site{t: t}
	s.project, s.secrets = project(t)
	require.Regexp(t, `^postgres://drawsvc:[0-9a-f]{48}@postgres/drawsvc\n$`, readFile(t, filepath.Join(s.secrets, "database")))
	require.NoError(t, os.WriteFile(filepath.Join(s.secrets, "database"), []byte(servertest.Postgres(t)), 0o600))
	s.replaced = []string{"/run/secrets/", s.secrets + "/"}
	migration := s.run("migrate")
	migration.succeeds()

	instances := s.start()
	proxy := s.nginx()
	admin, draw := strings.TrimSpace(readFile(t, filepath.Join(s.secrets, "admin-token"))), strings.TrimSpace(readFile(t, filepath.Join(s.secrets, "draw-token")))
	makePool(t, proxy, admin)
	won := regexp.MustCompile(`(?m)^drawsvc_draws_total\{mode="for-update",outcome="won"\} [1-9]`)
	for _, metrics := range s.instances { // the proxy skips a slow instance for a while
		until(t, nil, func() bool {
			wins(t, proxy, "p", "Authorization", "Bearer "+draw)
			_, body := ask(t, "GET", "http://"+metrics+"/metrics", "")
			return won.MatchString(body)
		}, func() string { return "the proxy does not know " + metrics })
	}
	s.prometheus("drawsvc_ready", len(s.instances))
	instances[0].stop()
	wins(t, proxy, "p", "Authorization", "Bearer "+draw)
}

// start starts the three instances, and returns when they are healthy.
func (s *site) start() (instances []*daemon) {
	s.t.Helper()
	for n := range 3 {
		name, listen, metrics := "drawsvc-"+strconv.Itoa(n+1), servertest.FreeAddr(s.t), servertest.FreeAddr(s.t)
		service := s.run(name, "0.0.0.0:8080", listen, "0.0.0.0:9090", metrics)
		service.answers("http://"+metrics+"/readyz", 200)
		service.healthy(func() *daemon {
			return start(s.t, s.t.TempDir(), service.cmd.Env, program(s.t), s.project.Services[name].HealthCheck.Test[2:]...)
		})
		s.replaced = append(s.replaced, name+":8080", listen, name+":9090", metrics)
		s.instances, instances = append(s.instances, metrics), append(instances, service)
	}
	return instances
}

// TestComposeCampaignRuns runs the commands of campaign.yaml as processes, with every
// file that it mounts. A pool is committed, stocked with codes and drawn from, and its
// checkpoint is published. The proxy calls the instances by HTTPS.
func TestComposeCampaignRuns(t *testing.T) {
	t.Parallel()
	needs(t, "nginx-light prometheus", "/usr/sbin/nginx", "prometheus", "promtool")
	c := newCampaign(t)
	s := &site{t: t}
	s.project, s.secrets = project(t, "campaign.yaml")
	require.Len(t, s.project.Services, 9)
	for name, service := range s.project.Services {
		mounted := map[string]string{}
		for _, secret := range service.Secrets {
			target := filepath.Join("/run/secrets", strings.TrimPrefix(secret.Target, "/run/secrets"))
			if secret.Target == "" {
				target = filepath.Join(target, secret.Source)
			}
			mounted[target] = s.project.Secrets[secret.Source].File
		}
		for variable, value := range service.Environment {
			if value != nil && strings.HasPrefix(*value, "/run/secrets/") && variable != "SSL_CERT_DIR" {
				source := filepath.Join(s.project.WorkingDir, "secrets", strings.TrimPrefix(*value, "/run/secrets/"))
				require.Equal(t, source, mounted[*value], "%s: %s", name, variable)
			}
		}
	}
	c.write(s.secrets)
	s.replaced = []string{"/run/secrets/", s.secrets + "/", "/run/secrets", s.secrets}
	migration := s.run("migrate")
	migration.succeeds()
	instances := s.start()
	c.play(s.nginx())
	published := s.project.Services["publish"]
	require.True(t, published.ReadOnly)
	require.Equal(t, *published.Environment["DRAWSVC_DIR"], published.Volumes[0].Target)
	metrics := servertest.FreeAddr(t)
	publisher := s.run("publish", "0.0.0.0:9090", metrics, "/var/lib/drawsvc/published", t.TempDir())
	s.replaced = append(s.replaced, "publish:9090", metrics)
	s.prometheus("drawsvc_publish_pass_timestamp_seconds", 1)
	c.ends(instances[0], publisher)
}

// nginx starts the committed proxy, and returns its address.
func (s *site) nginx() (listen string) {
	s.t.Helper()
	listen = servertest.FreeAddr(s.t)
	folder := s.t.TempDir()
	var config string
	for _, volume := range s.project.Services["proxy"].Volumes {
		require.Equal(s.t, "/etc/nginx/conf.d", filepath.Dir(volume.Target))
		config += s.here(readFile(s.t, volume.Source))
	}
	config = strings.Replace(config, "listen 8080;", "listen "+listen+";", 1)
	whole := "daemon off; master_process off; pid nginx.pid; error_log error.log; events {}\nhttp { access_log off;\n" +
		"client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;\n" + config + "}\n"
	file := filepath.Join(folder, "nginx.conf")
	require.NoError(s.t, os.WriteFile(file, []byte(whole), 0o600))
	proxy := start(s.t, folder, os.Environ(), "/usr/sbin/nginx", "-p", folder, "-c", file)
	proxy.answers("http://"+listen+"/livez", 200)
	return listen
}

// prometheus checks the committed configuration and its rules with promtool, starts the
// server, and waits until count targets of the job have a metric.
func (s *site) prometheus(metric string, count int) {
	s.t.Helper()
	folder, targets := s.t.TempDir(), s.t.TempDir()
	for _, volume := range s.project.Services["prometheus"].Volumes {
		if filepath.Dir(volume.Target) == "/etc/prometheus/targets" {
			file := filepath.Join(targets, filepath.Base(volume.Target))
			require.NoError(s.t, os.WriteFile(file, []byte(s.here(readFile(s.t, volume.Source))), 0o600))
		}
	}
	rules, err := filepath.Abs(filepath.Join(root, "deploy/prometheus/rules.yml"))
	require.NoError(s.t, err)
	config := s.here(readFile(s.t, filepath.Join(root, compose, "prometheus.yml")))
	config = strings.NewReplacer("/etc/prometheus/rules.yml", rules, "/etc/prometheus/targets", targets, "15s", "1s").Replace(config)
	file, listen := filepath.Join(folder, "prometheus.yml"), servertest.FreeAddr(s.t)
	require.NoError(s.t, os.WriteFile(file, []byte(config), 0o600))
	ok(s.t, nil, "promtool", "check", "config", file)
	server := start(s.t, folder, os.Environ(), "prometheus", "--config.file="+file, "--storage.tsdb.path="+folder, "--web.listen-address="+listen)
	server.answers("http://"+listen+"/-/ready", 200)
	until(s.t, server.ended, func() bool {
		_, body := ask(s.t, "GET", "http://"+listen+"/api/v1/query?query="+metric+"{job=%22drawsvc%22}>0", "")
		var answer struct{ Data struct{ Result []any } }
		return json.Unmarshal([]byte(body), &answer) == nil && len(answer.Data.Result) == count
	}, server.output.String)
	_, body := settled(s.t, "GET", "http://"+listen+"/api/v1/rules", "")
	require.Contains(s.t, body, "DrawsvcDown")
}

// TestComposeFilesAgree: the other configuration files of the deployment name only
// services and ports that are in the compose file.
func TestComposeFilesAgree(t *testing.T) {
	t.Parallel()
	p, _ := project(t)
	mounted := map[string]string{}
	for _, service := range p.Services {
		for _, v := range service.Volumes {
			mounted[v.Target] = filepath.Base(v.Source)
		}
	}
	for _, file := range []string{"nginx.conf", "prometheus.yml", "grafana-datasource.yaml"} {
		for _, found := range regexp.MustCompile(`\b(drawsvc-\d|prometheus):(\d+)`).FindAllStringSubmatch(read(t, filepath.Join(compose, file)), -1) {
			_, known := p.Services[found[1]]
			require.True(t, known, found[0])
			require.Contains(t, []string{"8080", "9090"}, found[2])
		}
	}
	var dashboards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, filepath.Join(compose, "grafana-dashboards.yaml"))), &dashboards))
	require.Equal(t, "drawsvc.json", mounted[dashboards.Providers[0].Options.Path+"/drawsvc.json"])
	home := p.Services["grafana"].Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	require.Equal(t, "drawsvc.json", mounted[*home])
	require.Equal(t, "rules.yml", mounted["/etc/prometheus/rules.yml"])
	_, port, err := net.SplitHostPort(*p.Services["drawsvc-1"].Environment["DRAWSVC_LISTEN"])
	require.NoError(t, err)
	require.Contains(t, read(t, filepath.Join(compose, "nginx.conf")), fmt.Sprintf("drawsvc-1:%s ", port))
}
