package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/goccy/go-yaml"
)

// Contract checks exchanges by a description of the interface. It is immutable, and safe
// for concurrent use.
type Contract struct {
	// Doc is the description, with closed objects.
	Doc *openapi3.T
	// Operations are all calls, in order.
	Operations []*Operation
}

// textKnown makes the filter read bodies that are not JSON. Its registry is global to
// the process, and not safe for concurrent use.
var textKnown = sync.OnceFunc(func() { //nolint:gochecknoglobals // once for each process, as the registry is
	for _, kind := range []string{"application/x-ndjson", "text/event-stream", "application/openmetrics-text",
		"text/html", "text/css", "text/javascript", "image/svg+xml"} {
		openapi3filter.RegisterBodyDecoder(kind, openapi3filter.PlainBodyDecoder)
	}
})

// file is the path of the description, from the root of the repository.
const file = "internal/http/openapi.yaml"

// Own reads the description of the repository that contains the working directory.
func Own() (*Contract, error) {
	folder, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err == nil {
			return Read(text)
		}
		above := filepath.Dir(folder)
		if !errors.Is(err, fs.ErrNotExist) || above == folder {
			return nil, fmt.Errorf("run it in the repository: %w", err)
		}
		folder = above
	}
}

// Read reads a description. Its objects are closed: an answer with an unknown member
// fails the check, although callers must ignore such members.
func Read(text []byte) (*Contract, error) {
	textKnown()
	var tree map[string]any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	published, err := load(tree)
	if err == nil {
		err = published.Doc.Validate(context.Background(), openapi3.EnableExamplesValidation(),
			openapi3.AllowExtensionsWithRef(), openapi3.DisableSchemaDefaultsValidation())
	}
	if err != nil {
		return nil, err
	}
	closeObjects(tree)
	return load(tree)
}

func load(tree map[string]any) (*Contract, error) {
	text, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	c := &Contract{Doc: doc}
	paths := doc.Paths.Map()
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		methods := paths[path].Operations()
		for _, method := range slices.Sorted(maps.Keys(methods)) {
			c.Operations = append(c.Operations, &Operation{methods[method], method, path, paths[path]})
		}
	}
	return c, nil
}

// closeObjects forbids members that an object does not list.
func closeObjects(at any) {
	switch node := at.(type) {
	case map[string]any:
		_, lists := node["properties"].(map[string]any)
		if _, says := node["additionalProperties"]; lists && !says {
			node["additionalProperties"] = false
		}
		for _, child := range node {
			closeObjects(child)
		}
	case []any:
		for _, child := range node {
			closeObjects(child)
		}
	}
}

// Operation is one described call.
type Operation struct {
	*openapi3.Operation
	Method, Path string

	item *openapi3.PathItem
}

// String returns the call, such as POST /draw.
func (o *Operation) String() string { return o.Method + " " + o.Path }

// Find returns the operation of a request and the parts of its path; nil for a request
// without a route. HEAD is not described: it is GET without a body.
func (c *Contract) Find(method, path string) (*Operation, map[string]string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	parts := strings.Split(path, "/")
next:
	for _, o := range c.Operations {
		names := strings.Split(o.Path, "/")
		if o.Method != method || len(names) != len(parts) {
			continue
		}
		params := map[string]string{}
		for i, name := range names {
			if !strings.HasPrefix(name, "{") {
				if name != parts[i] {
					continue next
				}
				continue
			}
			value, err := url.PathUnescape(parts[i])
			if err != nil || value == "" {
				continue next
			}
			params[strings.Trim(name, "{}")] = value
		}
		return o, params
	}
	return nil, nil
}

// Params returns the parameters that an operation has in a place, such as "query", by
// name.
func (o *Operation) Params(in string) map[string]*openapi3.Parameter {
	found := map[string]*openapi3.Parameter{}
	for _, p := range append(slices.Clone(o.item.Parameters), o.Parameters...) {
		if p.Value.In == in {
			found[p.Value.Name] = p.Value
		}
	}
	return found
}

// Codes returns the problem codes that an operation describes for a status.
func (o *Operation) Codes(status string) (codes []string) {
	listed, _ := o.Responses.Value(status).Value.Extensions["x-problem-codes"].([]any)
	for _, code := range listed {
		codes = append(codes, fmt.Sprint(code))
	}
	return codes
}
