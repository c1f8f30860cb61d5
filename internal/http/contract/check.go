package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"drawsvc/internal/draw"
)

// Exchange is a request and its answer.
type Exchange struct {
	// Request has the method, the address and the headers; its body is Sent.
	Request *http.Request
	Sent    []byte
	Status  int
	Header  http.Header
	// Received is the answer's body, decompressed.
	Received []byte
}

// wasTaken reports whether the service accepted the request. A refused request need not
// match the description.
func (x *Exchange) wasTaken() bool {
	return x.Status < 300 || x.Status == http.StatusConflict || x.Status == http.StatusUnprocessableEntity
}

// Check checks an exchange: the answer, and the request if it was accepted. Its error
// names the wrong member, header, code or status.
func (c *Contract) Check(x Exchange) error {
	o, params := c.Find(x.Request.Method, x.Request.URL.EscapedPath())
	if o == nil {
		return c.checkUnmatched(x)
	}
	asked := x.Request.Clone(context.Background())
	asked.Body = io.NopCloser(bytes.NewReader(x.Sent))
	options := &openapi3filter.Options{
		IncludeResponseStatus: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true,
	}
	input := &openapi3filter.RequestValidationInput{
		Request: asked, PathParams: params, Options: options,
		Route: &routers.Route{Spec: c.Doc, PathItem: o.item, Method: o.Method, Operation: o.Operation},
	}
	if len(x.Sent) == 0 { // an absent body has no type
		asked.Header.Del("Content-Type")
	}
	var wrong error
	if x.wasTaken() {
		if err := openapi3filter.ValidateRequest(context.Background(), input); err != nil {
			wrong = fmt.Errorf("the request was taken, and is not as described: %w", err)
		}
		for name := range asked.URL.Query() {
			if o.Params("query")[name] == nil {
				wrong = errors.Join(wrong, fmt.Errorf("query parameter %s is not described", name))
			}
		}
	}
	status := strconv.Itoa(x.Status)
	described := o.Responses.Value(status)
	if described == nil {
		return errors.Join(wrong, fmt.Errorf("%s: status %s is not described", o, status))
	}
	err := openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: x.Status, Header: x.Header, Options: options,
		Body: io.NopCloser(bytes.NewReader(x.Received)),
	})
	if err := errors.Join(wrong, err, checkHeaders(described.Value, x.Header)); err != nil {
		return fmt.Errorf("%s %s: %w", o, status, err)
	}
	return checkCode(x, o.Codes(status))
}

// checkHeaders checks the names of headers. Every answer may have the headers that are
// listed here; the description explains them in its text.
func checkHeaders(described *openapi3.Response, h http.Header) error {
	known := map[string]bool{}
	for _, name := range []string{"Content-Type", "Content-Length", "Cache-Control", "X-Content-Type-Options", "Strict-Transport-Security", "X-Request-Id",
		"Connection", "Date"} {
		known[name] = true
	}
	for name := range described.Headers {
		known[http.CanonicalHeaderKey(name)] = true
	}
	for name := range h {
		if !known[name] {
			return fmt.Errorf("header %s is not described", name)
		}
	}
	return nil
}

// checkCode checks the code of a problem.
func checkCode(x Exchange, codes []string) error {
	if x.Header.Get("Content-Type") != "application/problem+json" || x.Request.Method == http.MethodHead {
		return nil
	}
	if code := codeOf(x.Received); !slices.Contains(codes, code) {
		return fmt.Errorf("%s %s: %d is not described with the code %s", x.Request.Method, x.Request.URL.Path, x.Status, code)
	}
	return nil
}

// checkUnmatched checks the answer to a request without a route.
func (c *Contract) checkUnmatched(x Exchange) error {
	switch x.Status {
	case http.StatusNotFound:
	case http.StatusMethodNotAllowed, http.StatusBadRequest:
	default:
		return fmt.Errorf("%s %s is not described, and was answered with %d", x.Request.Method, x.Request.URL.Path, x.Status)
	}
	if x.Request.Method == http.MethodHead {
		return nil
	}
	var p any
	if err := json.Unmarshal(x.Received, &p); err != nil {
		return err
	}
	if err := c.Doc.Components.Schemas["Problem"].Value.VisitJSON(p, openapi3.EnableJSONSchema2020()); err != nil {
		return err
	}
	return checkCode(x, []string{string(draw.CodeNotFound), "method-not-allowed", string(draw.CodeInvalidRequest)})
}
