// Command schemas writes the JSON schemas with which the tests check the rendered chart,
// one file for each kind. Its source is the OpenAPI description in the module of
// Kubernetes. A member that is not described is an error, as for a strict API server.
//
//	go run ./schemas "$(go mod download -json k8s.io/kubernetes@v1.37.2 | jq -r .Dir)" testdata/schemas
package main

import (
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"strings"
)

// kinds returns the kinds that the chart uses, by the file name that kubeconform expects.
func kinds() map[string]string {
	return map[string]string{
		"configmap-v1":                           "io.k8s.api.core.v1.ConfigMap",
		"deployment-apps-v1":                     "io.k8s.api.apps.v1.Deployment",
		"horizontalpodautoscaler-autoscaling-v2": "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
		"ingress-networking-v1":                  "io.k8s.api.networking.v1.Ingress",
		"job-batch-v1":                           "io.k8s.api.batch.v1.Job",
		"networkpolicy-networking-v1":            "io.k8s.api.networking.v1.NetworkPolicy",
		"persistentvolumeclaim-v1":               "io.k8s.api.core.v1.PersistentVolumeClaim",
		"poddisruptionbudget-policy-v1":          "io.k8s.api.policy.v1.PodDisruptionBudget",
		"service-v1":                             "io.k8s.api.core.v1.Service",
		"serviceaccount-v1":                      "io.k8s.api.core.v1.ServiceAccount",
	}
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: schemas FOLDER-OF-KUBERNETES FOLDER")
	}
	if err := write(filepath.Join(os.Args[1], "api/openapi-spec/swagger.json"), os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func write(description, folder string) error {
	text, err := os.ReadFile(description)
	if err != nil {
		return err
	}
	var swagger struct {
		Definitions map[string]map[string]any `json:"definitions"`
	}
	if err := json.Unmarshal(text, &swagger); err != nil {
		return err
	}
	for file, kind := range kinds() {
		used := map[string]any{}
		collect(swagger.Definitions, kind, used)
		schema := map[string]any{"$ref": "#/definitions/" + kind, "definitions": used}
		text, err := json.Marshal(schema)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, file+".json"), append(text, '\n'), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// collect adds a definition and all definitions that it refers to.
func collect(all map[string]map[string]any, name string, used map[string]any) {
	if used[name] != nil {
		return
	}
	definition := strict(all[name]).(map[string]any)
	switch {
	case strings.HasSuffix(name, ".IntOrString"):
		definition = map[string]any{"type": []string{"string", "integer"}}
	case strings.HasSuffix(name, ".Quantity"):
		definition = map[string]any{"type": []string{"string", "number"}}
	}
	used[name] = definition
	refer(definition, func(other string) { collect(all, other, used) })
}

// strict returns a schema without prose, in which objects have only the described
// members.
func strict(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			_, prose := value.(string)
			if (key == "description" || key == "format") && prose || strings.HasPrefix(key, "x-kubernetes-") {
				continue
			}
			out[key] = strict(value)
		}
		if _, described := out["properties"].(map[string]any); described && out["type"] == "object" {
			out["additionalProperties"] = false
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = strict(value)
		}
		return out
	default:
		return v
	}
}

func refer(v any, found func(name string)) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if to, is := value.(string); is && key == "$ref" {
				found(strings.TrimPrefix(to, "#/definitions/"))
				continue
			}
			refer(value, found)
		}
	case []any:
		for _, value := range v {
			refer(value, found)
		}
	}
}
