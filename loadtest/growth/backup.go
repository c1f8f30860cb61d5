package main

import (
	"context"
	"net/url"
	"os"
	"os/exec"

	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
)

// backup is a dump of a database, and its copy on the same server.
type backup struct {
	*harness.Site
	server, kind, database, file string
}

const copied = "restored"

func (b backup) url() string {
	at, err := url.Parse(b.server)
	b.Must(err)
	at.Path = "/" + copied
	return at.String()
}

// client returns a client program of MariaDB with the server's account.
func (b backup) client(ctx context.Context, program string, args ...string) *exec.Cmd {
	at, err := url.Parse(b.server)
	b.Must(err)
	password, _ := at.User.Password()
	c := exec.CommandContext(ctx, program, append([]string{"--no-defaults", "--protocol=tcp", "--host=" + at.Hostname(), "--port=" + at.Port(), "--user=" + at.User.Username()}, args...)...)
	c.Env = append(os.Environ(), "MYSQL_PWD="+password)
	return c
}

func (b backup) dump(ctx context.Context) *exec.Cmd {
	if b.kind == "postgres" {
		at, err := url.Parse(b.server)
		b.Must(err)
		at.Path = "/" + b.database
		return exec.CommandContext(ctx, "pg_dump", "--format=custom", "--file="+b.file, "--dbname="+at.String())
	}
	return b.client(ctx, "mariadb-dump", "--single-transaction", "--result-file="+b.file, b.database)
}

func (b backup) restore(ctx context.Context) error {
	db, err := place.Open(b.server)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if _, err = db.ExecContext(ctx, "CREATE DATABASE "+copied); err != nil {
		return err
	}
	if b.kind != "postgres" {
		file, err := os.Open(b.file)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		load := b.client(ctx, "mariadb", copied)
		load.Stdin = file
		_, err = harness.MustMeasure(load)
		return err
	}
	for _, step := range [][]string{{"pg_restore", "--exit-on-error", "--dbname=" + b.url(), b.file}, {"vacuumdb", "--analyze-only", "--quiet", "--dbname=" + b.url()}} {
		if _, err := harness.MustMeasure(exec.CommandContext(ctx, step[0], step[1:]...)); err != nil { //nolint:gosec // its own programs
			return err
		}
	}
	return nil
}

// drop removes the copy, so that the disk has room for the next.
func (b backup) drop() {
	db, err := place.Open(b.server)
	b.Must(err)
	defer func() { _ = db.Close() }()
	text := "DROP DATABASE " + copied
	if b.kind == "postgres" {
		text += " WITH (FORCE)"
	}
	_, err = db.ExecContext(b.Context(), text)
	b.Must(err)
}
