package http

import (
	_ "embed"
	nethttp "net/http"
	"sync"

	"github.com/goccy/go-yaml"

	"drawsvc/internal/draw"
)

// description is the description of this interface, in OpenAPI 3.1.
//
//go:embed openapi.yaml
var description []byte

// describeYAML answers GET /openapi.yaml.
func describeYAML(c call) error {
	c.gin.Writer.Header().Set("Content-Type", "application/yaml")
	c.write(nethttp.StatusOK, description)
	return nil
}

// describeJSON is the handler of GET /openapi.json. The first call converts.
func describeJSON() handler {
	converted := sync.OnceValues(func() ([]byte, error) { return yaml.YAMLToJSON(description) })
	return func(c call) error {
		body, err := converted()
		if err != nil {
			return draw.Wrap(draw.CodeInternal, err, "the description could not be converted")
		}
		c.gin.Writer.Header()["Content-Type"] = c.server.headers.json
		c.write(nethttp.StatusOK, body)
		return nil
	}
}
