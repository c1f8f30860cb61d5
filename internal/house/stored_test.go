package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// callersOf lists the functions of a file with the names of all that they call.
func callersOf(t *testing.T, source string) map[string][]*ast.CallExpr {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", source, 0)
	require.NoError(t, err)
	calls := map[string][]*ast.CallExpr{}
	for _, d := range file.Decls {
		f, isFunc := d.(*ast.FuncDecl)
		if !isFunc {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if c, isCall := n.(*ast.CallExpr); isCall {
				calls[f.Name.Name] = append(calls[f.Name.Name], c)
			}
			return true
		})
	}
	return calls
}

// nameOf returns the last part of the name of an expression, "" for others.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// blames lists the functions of a file that give an internal error by draw.Wrap.
// draw.Wrap keeps the code of the cause, which blames a caller, but no caller is to
// blame for stored data. If reads is true, it also lists the functions that parse stored
// data and wrap no error.
func blames(t *testing.T, source string, reads bool) (bad []string) {
	t.Helper()
	parsers := []string{"ParsePublished", "ParseValue", "ParseCommitment", "ParseZone", "Verifier", "Open", "Parse"}
	for name, calls := range callersOf(t, source) {
		parses, wraps := false, false
		for _, c := range calls {
			called := nameOf(c.Fun)
			if called == "Wrap" && len(c.Args) > 0 && nameOf(c.Args[0]) == "CodeInternal" {
				bad = append(bad, name)
			}
			of, isMethod := c.Fun.(*ast.SelectorExpr)
			parses = parses || isMethod && slices.Contains([]string{"draw", "rules", "proof", "job"}, nameOf(of.X)) && slices.Contains(parsers, called)
			wraps = wraps || called == "WrapInternal" || called == "Unreadable"
		}
		if reads && parses && !wraps {
			bad = append(bad, name)
		}
	}
	return bad
}

// TestStoredThingsBlameNobody: stored data that cannot be read is not a caller's fault.
func TestStoredThingsBlameNobody(t *testing.T) {
	for _, path := range files(t, ".go") {
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/stocktest/") {
			continue
		}
		reads := strings.HasPrefix(path, "internal/stock/") || path == "internal/proof/scribe.go"
		require.Empty(t, blames(t, read(t, path), reads), path)
	}
	const double = "package stock\nfunc rulingOf() error { r, err := rules.Parse(b); "
	require.NotEmpty(t, blames(t, double+`return draw.Wrap(draw.CodeInternal, err, "rules cannot be read") }`, false))
	require.NotEmpty(t, blames(t, double+`return err }`, true))
	for _, good := range []string{`draw.WrapInternal(err, "rules cannot be read")`, `draw.Unreadable("the rules", err)`} {
		require.Empty(t, blames(t, double+`return `+good+` }`, true))
	}
}
