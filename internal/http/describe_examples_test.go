package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/http/contract"
)

// examplesOf returns the examples of a body: one, or one for each of its forms.
func examplesOf(m *openapi3.MediaType) []any {
	if len(m.Examples) == 0 {
		return []any{m.Example}
	}
	var all []any
	for _, e := range m.Examples {
		all = append(all, e.Value.Value)
	}
	return all
}

// sendExamples sends the examples of each request body, which have every described
// member, and checks that they are accepted.
func sendExamples(t *testing.T, c *contract.Contract) (wrong error) {
	s := newServer(t, &fake{}, full)
	sent := 0
	for _, o := range c.Operations {
		if o.RequestBody == nil {
			continue
		}
		for kind, media := range o.RequestBody.Value.Content {
			described, has := map[string]contract.SchemaMember{}, map[string]bool{}
			contract.Members(media.Schema, o.String(), described)
			for _, example := range examplesOf(media) {
				contract.Present(example, o.String(), has)
			}
			for path := range described {
				if !has[path] {
					wrong = errors.Join(wrong, fmt.Errorf("the example lacks %s", path))
				}
			}
			path := strings.NewReplacer("{pool}", "spring", "{draw}", "d", "{prize}", "a", "{job}", "j", "{hook}", "h", "{version}", "7").Replace(o.Path)
			for _, example := range examplesOf(media) {
				body, isText := example.(string)
				if !isText {
					text, err := json.Marshal(example)
					require.NoError(t, err)
					body = string(text)
				}
				w := httptest.NewRecorder()
				s.engine.ServeHTTP(w, asAdmin(o.Method, path, body, "Content-Type", kind))
				if w.Code >= 300 {
					wrong = errors.Join(wrong, fmt.Errorf("%s does not take its example: %s", o, w.Body))
				}
				sent++
			}
		}
	}
	require.Positive(t, sent)
	return wrong
}

func TestExamplesAreTaken(t *testing.T) {
	t.Parallel()
	c, err := ownContract()
	require.NoError(t, err)
	require.NoError(t, sendExamples(t, c))
}

// withMembers makes refusals with additional members: of a limit without end, of a
// limit that ends, and of pauses.
func withMembers(t *testing.T) (all []error) {
	rules, err := rules.Parse([]byte(`{"fallback":"none","limits":[{"of":"prize","prize":"gold","max":1},{"of":"draws","max":3,"per":"day"}]}`))
	require.NoError(t, err)
	for i, end := range []time.Time{{}, at} {
		e := draw.Errorf(draw.CodeLimitReached, "because")
		e.Reached = &draw.Reached{Limit: rules.Limits[i], RetryAt: end}
		all = append(all, e)
	}
	return append(all, &draw.Error{Code: draw.CodePoolNotOpen, Notice: "for good"}, &draw.Error{Code: draw.CodePaused, Notice: "soon", RetryAfter: time.Second})
}
