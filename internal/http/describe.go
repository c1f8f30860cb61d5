package http

import (
	_ "embed"
	"sync"

	"github.com/goccy/go-yaml"

	"drawsvc/internal/draw"
	"drawsvc/internal/http/packed"
)

// description is the description of this interface, in OpenAPI 3.1.
//
//go:embed openapi.yaml
var description []byte

// describeYAML is the handler of GET /openapi.yaml.
func describeYAML() handler {
	return described("application/yaml", func() ([]byte, error) { return description, nil })
}

// describeJSON is the handler of GET /openapi.json.
func describeJSON() handler {
	return described(typeJSON, func() ([]byte, error) { return yaml.YAMLToJSON(description) })
}

// described returns the handler that answers with the description in one format. The
// first call converts the description to it.
func described(contentType string, convert func() ([]byte, error)) handler {
	converted := sync.OnceValues(func() (*packed.Copy, error) {
		body, err := convert()
		return packed.New(body), err
	})
	return func(c call) error {
		body, err := converted()
		if err != nil {
			return draw.WrapInternal(err, "the description could not be converted")
		}
		c.gin.Writer.Header().Set("Content-Type", contentType)
		c.writeOpenly(body)
		return nil
	}
}
