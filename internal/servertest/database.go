package servertest

import (
	"context"
	"net/url"
	"strings"
	"testing"
)

// statementMax is the longest that making or dropping a database may take.
const statementMax = readyMax

// newDatabase makes a database on the server of base and returns base with
// that database's name. It is dropped when the test ends, with dropOption
// behind the statement.
func newDatabase(tb testing.TB, base, dropOption string,
	execute func(ctx context.Context, base, statement string) error) string {
	tb.Helper()
	location, err := url.Parse(base)
	if err != nil {
		tb.Fatalf("the test database's URL: %v", err)
	}
	name := "drawsvc_" + strings.ToLower(secret())
	statement := func(text string) error {
		ctx, cancel := context.WithTimeout(context.Background(), statementMax)
		defer cancel()
		return execute(ctx, base, text)
	}
	if err := statement("CREATE DATABASE " + name); err != nil {
		tb.Fatalf("make a test database: %v", err)
	}
	tb.Cleanup(func() {
		if err := statement("DROP DATABASE " + name + dropOption); err != nil {
			tb.Errorf("drop the test database: %v", err)
		}
	})
	location.Path = "/" + name
	return location.String()
}
