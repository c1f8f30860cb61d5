package packaging

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const chart = "deploy/chart"

// valueFiles are the files of values by their names without ".yaml".
func valueFiles(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, chart, "ci/*.yaml"))
	require.NoError(t, err)
	require.Len(t, found, 7)
	for i, file := range found {
		found[i] = strings.TrimSuffix(filepath.Base(file), ".yaml")
	}
	return found
}

// template renders the chart by Helm, with a file of values and further settings.
func template(t *testing.T, values string, set ...string) (string, error) {
	t.Helper()
	args := []string{"template", "drawsvc", chart, "--values", filepath.Join(chart, "ci", values+".yaml"), "--kube-version", kubernetes}
	for _, s := range set {
		args = append(args, "--set", s)
	}
	file := filepath.Join(t.TempDir(), "out.yaml")
	output, err := tool(t, "helm", append(args, "--output-dir", filepath.Dir(file))...)
	if err != nil {
		return output, err
	}
	var all strings.Builder
	found, err := filepath.Glob(filepath.Join(filepath.Dir(file), "drawsvc/templates/*.yaml"))
	require.NoError(t, err)
	for _, path := range found {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		all.Write(text)
	}
	return all.String(), nil
}

// kubernetes is the version whose schemas are in testdata/schemas.
const kubernetes = "1.37.2"

// conforms returns an error unless manifests match the schemas of Kubernetes. It ignores
// the kinds of the Prometheus operator, which have no schema there.
func conforms(t *testing.T, manifests string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	require.NoError(t, os.WriteFile(file, []byte(manifests), 0o600))
	output, err := tool(t, "kubeconform", "-strict", "-kubernetes-version", kubernetes, "-skip", "ServiceMonitor,PrometheusRule",
		"-schema-location", "tools/package/testdata/schemas/{{.ResourceKind}}{{.KindSuffix}}.json", file)
	if err != nil {
		t.Log(output)
	}
	return err
}

// ofKind decodes the manifests of a kind, strictly.
func ofKind[T any](t *testing.T, manifests, kind string) (found []T) {
	t.Helper()
	for _, document := range strings.Split(manifests, "\n---\n") {
		var about meta.TypeMeta
		require.NoError(t, yaml.Unmarshal([]byte(document), &about))
		if about.Kind == kind {
			var v T
			require.NoError(t, yaml.UnmarshalStrict([]byte(document), &v))
			found = append(found, v)
		}
	}
	return found
}

// TestChart renders the chart for every file of values. It checks the result with the
// schemas of Kubernetes and with the types of the Prometheus operator.
func TestChart(t *testing.T) {
	t.Parallel()
	for _, values := range valueFiles(t) {
		t.Run(values, func(t *testing.T) {
			t.Parallel()
			manifests, err := template(t, values)
			require.NoError(t, err, manifests)
			require.NoError(t, conforms(t, manifests))
			output, err := tool(t, "helm", "lint", "--strict", chart, "--values", filepath.Join(chart, "ci", values+".yaml"))
			require.NoError(t, err, output)
			deployments := ofKind[apps.Deployment](t, manifests, "Deployment")
			require.Equal(t, values == "campaign", len(deployments) == 2)
			for _, d := range deployments {
				requireWalls(t, d.Spec.Template.Spec)
			}
			jobs := ofKind[batch.Job](t, manifests, "Job")
			require.Equal(t, values != "minimal-sqlite", len(jobs) == 1)
			for _, job := range jobs {
				requireWalls(t, job.Spec.Template.Spec)
			}
			require.Equal(t, values == "everything", len(ofKind[monitoring.ServiceMonitor](t, manifests, "ServiceMonitor")) == 1)
			require.Equal(t, values == "everything" || values == "campaign", len(ofKind[monitoring.PrometheusRule](t, manifests, "PrometheusRule")) == 1)
		})
	}
}

// requireWalls requires that a pod does not run as root and has no privileges, no
// writable root file system, and no secret in a variable.
func requireWalls(t *testing.T, pod core.PodSpec) {
	t.Helper()
	require.True(t, *pod.SecurityContext.RunAsNonRoot)
	require.NotZero(t, *pod.SecurityContext.RunAsUser)
	require.Equal(t, core.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
	require.False(t, *pod.AutomountServiceAccountToken)
	require.False(t, *pod.EnableServiceLinks, "variables of other Services may begin with DRAWSVC_")
	for _, c := range pod.Containers {
		require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem)
		require.False(t, *c.SecurityContext.AllowPrivilegeEscalation)
		require.Equal(t, []core.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop)
		for _, v := range c.Env {
			require.Nil(t, v.ValueFrom, v.Name)
		}
	}
}

// TestChartIsCaught: the test detects manifests that no cluster accepts, for example with
// a misspelt kind.
func TestChartIsCaught(t *testing.T) {
	t.Parallel()
	manifests, err := template(t, "postgres")
	require.NoError(t, err)
	for _, change := range [][2]string{
		{"maxUnavailable: 0", "maxUnavailible: 0"}, {"periodSeconds: 2", `periodSeconds: "2s"`}, {"kind: PodDisruptionBudget", "kind: PodDisruption"},
	} {
		broken := strings.Replace(manifests, change[0], change[1], 1)
		require.NotEqual(t, manifests, broken)
		require.Error(t, conforms(t, broken), change)
	}
}

// TestChartRefuses: values that cannot work are refused before anything is installed.
func TestChartRefuses(t *testing.T) {
	t.Parallel()
	for set, c := range map[string]struct{ values, part string }{
		"replicas=2":                                        {"minimal-sqlite", "'/replicas': maximum: got 2, want 1"},
		"autoscaling.enabled=true":                          {"minimal-sqlite", "'/autoscaling/enabled'"},
		"database.existingSecret=x":                         {"minimal-sqlite", "'/database/existingSecret'"},
		"tokens.existingSecret=":                            {"postgres", "'/tokens/existingSecret'"},
		"tokens.drawKey=":                                   {"postgres", "'/tokens/drawKey'"},
		"database.existingSecret=":                          {"postgres", "'/database/existingSecret'"},
		"image.repository=":                                 {"postgres", "'/image/repository'"},
		"ingress.host=":                                     {"ingress-hpa", "'/ingress/host'"},
		"ingress.enabled=true":                              {"postgres", "missing property 'trusted-proxies'"},
		"networkPolicy.metrics=null":                        {"postgres", "missing property 'metrics'"},
		"image.digest=sha256:12":                            {"postgres", "'/image/digest'"},
		"replica=4":                                         {"postgres", "additional properties 'replica' not allowed"},
		"settings.database=sqlite:x":                        {"postgres", "invalid propertyName"},
		"metrics.port=8080":                                 {"postgres", "'/metrics/port'"},
		"settings.draw-token=secret1":                       {"postgres", "invalid propertyName"},
		"settings.tokens=/x":                                {"postgres", "invalid propertyName"},
		"tokens.adminKey=":                                  {"postgres", "'/tokens/adminKey'"},
		"publish.enabled=true":                              {"postgres", "'/seeds/existingSecret'"},
		"seeds.existingSecret=":                             {"campaign", "'/seeds/existingSecret'"},
		"tls.existingSecret=":                               {"campaign", "'/tls/existingSecret'"},
		"metrics.prometheusRule.runbookURL=docs/runbook.md": {"campaign", "'/metrics/prometheusRule/runbookURL'"},
	} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			output, err := template(t, c.values, set)
			require.Error(t, err)
			require.Contains(t, output, c.part)
		})
	}
}

// TestChartsNetworkPolicy: everybody may call the service, and only pods of the
// namespace may read metrics, which need no token.
func TestChartsNetworkPolicy(t *testing.T) {
	t.Parallel()
	manifests, err := template(t, "postgres")
	require.NoError(t, err)
	policies := ofKind[networking.NetworkPolicy](t, manifests, "NetworkPolicy")
	require.Len(t, policies, 1)
	spec := policies[0].Spec
	pod := ofKind[apps.Deployment](t, manifests, "Deployment")[0].Spec.Template
	require.True(t, within(spec.PodSelector.MatchLabels, pod.Labels))
	require.Equal(t, []networking.PolicyType{networking.PolicyTypeIngress}, spec.PolicyTypes)
	require.Len(t, spec.Ingress, 2)
	require.Equal(t, "http", spec.Ingress[0].Ports[0].Port.StrVal)
	require.Empty(t, spec.Ingress[0].From)
	require.Equal(t, "metrics", spec.Ingress[1].Ports[0].Port.StrVal)
	require.Equal(t, []networking.NetworkPolicyPeer{{PodSelector: &meta.LabelSelector{}}}, spec.Ingress[1].From)

	off, err := template(t, "postgres", "networkPolicy.enabled=false")
	require.NoError(t, err)
	require.Empty(t, ofKind[networking.NetworkPolicy](t, off, "NetworkPolicy"))
	digest := "sha256:" + strings.Repeat("a", 64)
	pinned, err := template(t, "postgres", "image.digest="+digest)
	require.NoError(t, err)
	require.Contains(t, ofKind[apps.Deployment](t, pinned, "Deployment")[0].Spec.Template.Spec.Containers[0].Image, "@"+digest)
}

// TestChartsIngress: callers reach draws, pools and the explanations of refusals, and
// no private path.
func TestChartsIngress(t *testing.T) {
	t.Parallel()
	manifests, err := template(t, "ingress-hpa")
	require.NoError(t, err)
	found := ofKind[networking.Ingress](t, manifests, "Ingress")
	require.Len(t, found, 1)
	var paths []string
	for _, path := range found[0].Spec.Rules[0].HTTP.Paths {
		paths = append(paths, path.Path)
	}
	require.Equal(t, []string{"/draw", "/pools/", "/problems/"}, paths)
}

// TestChartHasTheRules: the rules and the dashboard of the chart are those of deploy/.
func TestChartHasTheRules(t *testing.T) {
	t.Parallel()
	manifests, err := template(t, "everything")
	require.NoError(t, err)
	var rules monitoring.PrometheusRuleSpec
	text := strings.ReplaceAll(read(t, "deploy/prometheus/rules.yml"), "docs/runbook.md", "https://git.example.org/draws/docs/runbook.md")
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &rules))
	require.NotEmpty(t, rules.Groups[0].Rules)
	require.Equal(t, rules, ofKind[monitoring.PrometheusRule](t, manifests, "PrometheusRule")[0].Spec)
	boards := ofKind[core.ConfigMap](t, manifests, "ConfigMap")
	require.Len(t, boards, 1)
	require.Equal(t, strings.TrimSpace(read(t, "deploy/grafana/drawsvc.json")), boards[0].Data["drawsvc.json"])
}

// TestChartsServicesFindPods: each selector selects the pods of the deployment, and not
// the pod of the migration.
func TestChartsServicesFindPods(t *testing.T) {
	t.Parallel()
	manifests, err := template(t, "everything")
	require.NoError(t, err)
	pod := ofKind[apps.Deployment](t, manifests, "Deployment")[0].Spec.Template
	job := ofKind[batch.Job](t, manifests, "Job")[0].Spec.Template
	services := ofKind[core.Service](t, manifests, "Service")
	require.Len(t, services, 2)
	for _, s := range services {
		require.True(t, within(s.Spec.Selector, pod.Labels))
		require.False(t, within(s.Spec.Selector, job.Labels))
		require.True(t, slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(p core.ContainerPort) bool {
			return p.Name == s.Spec.Ports[0].TargetPort.StrVal
		}))
	}
	monitor := ofKind[monitoring.ServiceMonitor](t, manifests, "ServiceMonitor")[0]
	require.True(t, within(monitor.Spec.Selector.MatchLabels, services[1].Labels))
	require.False(t, within(monitor.Spec.Selector.MatchLabels, services[0].Labels), "one Service is scraped")
}

// TestChartsPublisherIsScraped: the ServiceMonitor finds the publisher's pod too.
func TestChartsPublisherIsScraped(t *testing.T) {
	t.Parallel()
	manifests, err := template(t, "campaign", "metrics.serviceMonitor.enabled=true")
	require.NoError(t, err)
	monitor := ofKind[monitoring.ServiceMonitor](t, manifests, "ServiceMonitor")[0]
	publisher := ofKind[apps.Deployment](t, manifests, "Deployment")
	publisher = slices.DeleteFunc(publisher, func(d apps.Deployment) bool { return !strings.HasSuffix(d.Name, "-publish") })
	require.Len(t, publisher, 1)
	found := 0
	for _, s := range ofKind[core.Service](t, manifests, "Service") {
		if within(monitor.Spec.Selector.MatchLabels, s.Labels) && within(s.Spec.Selector, publisher[0].Spec.Template.Labels) {
			found++
			require.Equal(t, monitor.Spec.Endpoints[0].Port, s.Spec.Ports[0].Name)
		}
	}
	require.Equal(t, 1, found)
}

// within reports whether labels contain everything that a selector requires.
func within(selector, labels map[string]string) bool {
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return len(selector) > 0
}
