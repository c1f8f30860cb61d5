package http

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	nethttp "net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/goccy/go-yaml"

	"drawsvc/internal/draw"
)

// contract is a description of the interface that judges exchanges.
type contract struct {
	doc *openapi3.T
	// operations are all calls, in order.
	operations []*operation
}

// readContract reads a description. Callers must ignore members of responses
// that they do not know; the contract does not: its objects are closed.
func readContract(text []byte) (*contract, error) {
	var tree map[string]any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	published, err := loadContract(tree)
	if err == nil {
		err = published.doc.Validate(context.Background(), openapi3.EnableExamplesValidation(),
			openapi3.AllowExtensionsWithRef(), openapi3.DisableSchemaDefaultsValidation())
	}
	if err != nil {
		return nil, err
	}
	closeObjects(tree)
	return loadContract(tree)
}

func loadContract(tree map[string]any) (*contract, error) {
	text, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	c := &contract{doc: doc}
	paths := doc.Paths.Map()
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		methods := paths[path].Operations()
		for _, method := range slices.Sorted(maps.Keys(methods)) {
			c.operations = append(c.operations, &operation{methods[method], method, path, paths[path]})
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

// operation is one call as it is described.
type operation struct {
	*openapi3.Operation
	method, path string
	item         *openapi3.PathItem
}

func (o *operation) String() string { return o.method + " " + o.path }

// find returns the operation of a request and the parts of its path; nil for
// what no route takes. HEAD is not described: it is GET without a body.
func (c *contract) find(method, path string) (*operation, map[string]string) {
	if method == nethttp.MethodHead {
		method = nethttp.MethodGet
	}
	parts := strings.Split(path, "/")
next:
	for _, o := range c.operations {
		names := strings.Split(o.path, "/")
		if o.method != method || len(names) != len(parts) {
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

// params are the parameters of an operation in a place, by name.
func (o *operation) params(in string) map[string]*openapi3.Parameter {
	found := map[string]*openapi3.Parameter{}
	for _, p := range append(slices.Clone(o.item.Parameters), o.Parameters...) {
		if p.Value.In == in {
			found[p.Value.Name] = p.Value
		}
	}
	return found
}

// codes are the problem codes that an operation describes for a status.
func (o *operation) codes(status string) (codes []string) {
	listed, _ := o.Responses.Value(status).Value.Extensions["x-problem-codes"].([]any)
	for _, code := range listed {
		codes = append(codes, fmt.Sprint(code))
	}
	return codes
}

// exchange is a request and what it was answered with.
type exchange struct {
	request  *nethttp.Request
	sent     []byte
	status   int
	header   nethttp.Header
	received []byte
}

// check judges an exchange: the answer, and the request where it was taken.
func (c *contract) check(x exchange) error {
	o, params := c.find(x.request.Method, x.request.URL.EscapedPath())
	if o == nil {
		return c.checkUnmatched(x)
	}
	asked := x.request.Clone(context.Background())
	asked.Body = io.NopCloser(bytes.NewReader(x.sent))
	options := &openapi3filter.Options{
		IncludeResponseStatus: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true,
	}
	input := &openapi3filter.RequestValidationInput{
		Request: asked, PathParams: params, Options: options,
		Route: &routers.Route{Spec: c.doc, PathItem: o.item, Method: o.method, Operation: o.Operation},
	}
	if len(x.sent) == 0 { // there is no type of what is not there
		asked.Header.Del("Content-Type")
	}
	var wrong error
	if x.status < 300 || x.status == nethttp.StatusConflict || x.status == nethttp.StatusUnprocessableEntity {
		if err := openapi3filter.ValidateRequest(context.Background(), input); err != nil {
			wrong = fmt.Errorf("the request was taken, and is not as described: %w", err)
		}
		for name := range asked.URL.Query() {
			if o.params("query")[name] == nil {
				wrong = errors.Join(wrong, fmt.Errorf("query parameter %s is not described", name))
			}
		}
	}
	status := strconv.Itoa(x.status)
	described := o.Responses.Value(status)
	if described == nil {
		return errors.Join(wrong, fmt.Errorf("%s: status %s is not described", o, status))
	}
	err := openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: x.status, Header: x.header, Options: options,
		Body: io.NopCloser(bytes.NewReader(x.received)),
	})
	if err := errors.Join(wrong, err, checkHeaders(described.Value, x.header)); err != nil {
		return fmt.Errorf("%s %s: %w", o, status, err)
	}
	return checkCode(x, o.codes(status))
}

// checkHeaders judges the names of headers: those of every answer are in the
// text of the description.
func checkHeaders(described *openapi3.Response, h nethttp.Header) error {
	known := map[string]bool{}
	for _, name := range []string{"Content-Type", "Content-Length", "Cache-Control", "X-Content-Type-Options", "X-Request-Id", "Connection"} {
		known[name] = true
	}
	for name := range described.Headers {
		known[nethttp.CanonicalHeaderKey(name)] = true
	}
	for name := range h {
		if !known[name] {
			return fmt.Errorf("header %s is not described", name)
		}
	}
	return nil
}

// checkCode judges the code of a problem.
func checkCode(x exchange, codes []string) error {
	if x.header.Get("Content-Type") != "application/problem+json" || x.request.Method == nethttp.MethodHead {
		return nil
	}
	var p problemDocument
	if err := json.Unmarshal(x.received, &p); err != nil {
		return err
	}
	if !slices.Contains(codes, p.Code) {
		return fmt.Errorf("%s %s: %d is not described with the code %s", x.request.Method, x.request.URL.Path, x.status, p.Code)
	}
	return nil
}

// checkUnmatched judges the answer to a request that no route took.
func (c *contract) checkUnmatched(x exchange) error {
	switch x.status {
	case nethttp.StatusNotFound:
	case nethttp.StatusMethodNotAllowed, nethttp.StatusBadRequest:
	default:
		return fmt.Errorf("%s %s is not described, and was answered with %d", x.request.Method, x.request.URL.Path, x.status)
	}
	if x.request.Method == nethttp.MethodHead {
		return nil
	}
	var p any
	if err := json.Unmarshal(x.received, &p); err != nil {
		return err
	}
	if err := c.doc.Components.Schemas["Problem"].Value.VisitJSON(p, openapi3.EnableJSONSchema2020()); err != nil {
		return err
	}
	return checkCode(x, []string{string(draw.CodeNotFound), string(codeMethodNotAllowed), string(draw.CodeInvalidRequest)})
}

// schemaMember is a member that a schema describes, wherever the schema is used.
type schemaMember struct {
	of   *openapi3.Schema
	name string
}

// members adds the members that a schema describes, by their paths.
func members(schema *openapi3.SchemaRef, at string, into map[string]schemaMember) {
	if schema == nil {
		return
	}
	for name, ref := range schema.Value.Properties {
		into[at+"/"+name] = schemaMember{schema.Value, name}
		members(ref, at+"/"+name, into)
	}
	members(schema.Value.Items, at+"/*", into)
	for _, one := range schema.Value.OneOf {
		members(one, at, into)
	}
}

// present adds the members that a value has, as paths.
func present(value any, at string, into map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			into[at+"/"+name] = true
			present(member, at+"/"+name, into)
		}
	case []any:
		for _, one := range v {
			present(one, at+"/*", into)
		}
	}
}
