package http

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// constants returns the values of the Go client's constants of a type.
func constants(t *testing.T, file, of string) (values []string) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	ast.Inspect(parsed, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if is, ok := v.Type.(*ast.Ident); ok && is.Name == of {
				value, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
				require.NoError(t, err)
				values = append(values, value)
			}
		}
		return true
	})
	return values
}

// TestClientHasAllCodes: each code that may answer a call has a constant in the Go client.
func TestClientHasAllCodes(t *testing.T) {
	t.Parallel()
	known := constants(t, "../../client/errors.go", "Code")
	own, err := ownContract()
	require.NoError(t, err)
	missing := func(known []string) (codes []string) {
		for _, o := range own.Operations {
			for _, status := range slices.Sorted(maps.Keys(o.Responses.Map())) {
				for _, code := range o.Codes(status) {
					if !slices.Contains(known, code) {
						codes = append(codes, code)
					}
				}
			}
		}
		return codes
	}
	require.Empty(t, missing(known))
	require.Contains(t, missing(slices.DeleteFunc(known, func(c string) bool { return c == "limit-reached" })), "limit-reached", "the double")
}
