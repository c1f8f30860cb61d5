package http

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/http/contract"
	"drawsvc/internal/http/problem"
	"drawsvc/internal/servertest"
)

// TestDescriptionCatches: a description that is wrong in one place is rejected.
func TestDescriptionCatches(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	table := newServer(t, &fake{}).routes()
	for name, d := range map[string]struct{ old, with, want string }{
		"a member of an answer is missing": {`        unit: {type: integer, format: int64, minimum: 1, description: "The number of the prize's issued unit, from 1."}` + "\n", "", "unit"},
		"a member that is not sent":        {"        replayed: {type: boolean, description:", "        odds: {type: string}\n        replayed: {type: boolean, description:", "POST /draw 200/odds"},
		"a member of another type":         {"        over_issued: {type: integer,", "        over_issued: {type: string,", "over_issued"},
		"a member of a request is missing": {"        count: {type: integer, minimum: 1, maximum: 100, description: \"1 by default.\"}\n", "", "count"},
		"a member that is not taken":       {"        count: {type: integer,", "        colour: {type: string}\n        count: {type: integer,", "the example lacks POST /draw/colour"},
		"a status is missing":              {`        "409": {$ref: "#/components/responses/AlreadyIssued"}` + "\n", "", "status 409 is not described"},
		"another status is missing":        {`        "422": {$ref: "#/components/responses/KeyReused"}` + "\n", "", "POST /draw: statuses"},
		"a status that is not answered":    {`        "504": {$ref`, "        \"418\": {description: Tea., x-problem-codes: [internal]}\n        \"504\": {$ref", "418"},
		"a code is missing from a status":  {"[sold-out, pool-not-open, ", "[sold-out, ", "not described with the code pool-not-open"},
		"a code of another status":         {"x-problem-codes: [pool-not-found]", "x-problem-codes: [pool-not-found, sold-out]", "sold-out is no code of 404"},
		"a code is missing":                {"        - sold-out\n", "", "codes:"},
		"a code that nothing has":          {"        - sold-out\n", "        - sold-out\n        - sold-in\n", "sold-in"},
		"a route is missing":               {"  /livez:\n", "  /lively:\n", "GET /livez"},
		"a query parameter is missing":     {"        - {$ref: \"#/components/parameters/Formulas\"}\n", "", "GET /admin/awards: query"},
		"a parameter that is not taken":    {"        - {$ref: \"#/components/parameters/After\"}\n", "        - {$ref: \"#/components/parameters/After\"}\n        - {name: user, in: query, schema: {type: string}}\n", "user"},
		"a header is missing":              {"          headers: {ETag: {$ref: \"#/components/headers/ETag\"}}\n", "", "header Etag is not described"},
		"a role is another":                {"security: [{token: [stock]}]", "security: [{token: [draw]}]", "prizes/{prize}/stock: role"},
		"a media type is missing":          {"            application/x-ndjson: {schema: {type: string}}\n", "", "application/x-ndjson"},
		"a request is narrower than real":  {"      schema: {type: string, minLength: 1}\n", "      schema: {type: string, minLength: 2}\n", "the request was taken, and is not as described"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := string(description)
			require.Contains(t, text, d.old)
			c, err := contract.Read([]byte(strings.Replace(text, d.old, d.with, 1)))
			if err != nil {
				require.ErrorContains(t, err, d.want)
				return
			}
			quick := errors.Join(compare(c, table, problem.Table()), sendExamples(t, c), unstreamed(t, c))
			if strings.Contains(fmt.Sprint(quick), d.want) {
				return
			}
			seen, wrong := exercise(t, c)
			require.Contains(t, fmt.Sprint(wrong, unsent(c, seen)), d.want)
		})
	}
}

// unstreamed returns the complaints about answers that are not JSON.
func unstreamed(t *testing.T, c *contract.Contract) (wrong error) {
	j := contract.NewJudge(newServer(t, &fake{}).engine, c.Check, func(err error) { wrong = errors.Join(wrong, err) })
	for path, kind := range map[string]string{"awards": typeCSV, "moves": typeCSV, "statements": typeCSV, "log": typeNDJSON} {
		j.ServeHTTP(httptest.NewRecorder(), asAdmin("GET", "/admin/pools/p/"+path, "", "Accept", kind))
	}
	return wrong
}
