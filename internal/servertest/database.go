package servertest

import (
	"context"
	"net/url"
	"strings"
	"testing"
)

// statementMax is the maximum time for creating or dropping a database.
const statementMax = readyMax

// databases creates databases on the server with the URL base, and appends options to the
// statements.
type databases struct {
	base                     string
	createOption, dropOption string
	execute                  func(ctx context.Context, base, statement string) error
}

// lend creates a database and returns its URL. The database is dropped when the test
// ends.
func (d databases) lend(tb testing.TB) string {
	tb.Helper()
	name := databaseName()
	if err := d.statement("CREATE DATABASE " + name + d.createOption); err != nil {
		tb.Fatalf("make a test database: %v", err)
	}
	tb.Cleanup(func() {
		if err := d.statement("DROP DATABASE " + name + d.dropOption); err != nil {
			tb.Errorf("drop the test database: %v", err)
		}
	})
	return d.url(name)
}

func (d databases) statement(text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), statementMax)
	defer cancel()
	return d.execute(ctx, d.base, text)
}

// url returns the URL of the database with the given name on the server; "" if the
// server's URL is "".
func (d databases) url(name string) string {
	location, err := url.Parse(d.base)
	if err != nil {
		return ""
	}
	location.Path = "/" + name
	return location.String()
}

func databaseName() string { return "drawsvc_" + strings.ToLower(secret()) }
