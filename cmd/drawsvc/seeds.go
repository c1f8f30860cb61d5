package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"drawsvc/internal/proof"
)

// identityFlag is --seed-identity-file: the age identities that unseal what
// committed pools keep secret.
type identityFlag struct {
	path  string
	flags *pflag.FlagSet
}

// identityName and recipientsName are the names of the flags.
const (
	identityName   = "seed-identity-file"
	recipientsName = "seed-recipients"
)

func (i *identityFlag) flag(f *pflag.FlagSet) {
	i.flags = f
	f.StringVar(&i.path, identityName, "", "`file` of the age identities that unseal the seeds of committed pools")
}

// read returns the identities, nil where none are named.
func (i *identityFlag) read() (*proof.Identities, error) {
	if i.path == "" {
		return nil, nil //nolint:nilnil // no identities are what nil says
	}
	text, err := readPrivate(i.path)
	if err != nil {
		return nil, usageError{fmt.Errorf("--seed-identity-file: %w", err)}
	}
	by, err := proof.ParseIdentities(string(text))
	if err != nil {
		return nil, usageError{fmt.Errorf("--seed-identity-file: %s", message(err))}
	}
	return by, nil
}

// handTo gives the identities to a command's calls on the database, and reports whether
// there are any. A service unseals by its own: the flag is wrong with it, and the
// variable may be meant for serve.
func (i *identityFlag) handTo(t *target) (bool, error) {
	remote, err := t.isRemote(i.flags)
	switch {
	case err != nil:
		return false, err
	case remote && sourceOf(i.flags, identityName) == byLine:
		return false, usageError{errors.New("--seed-identity-file is for the database: a service unseals by its own")}
	case remote:
		return false, nil
	}
	t.local.identities, err = i.read()
	return t.local.identities != nil, err
}

// recipientsFlag is --seed-recipients: those that the secrets of a pool are
// sealed to.
type recipientsFlag struct{ path string }

func (r *recipientsFlag) flag(f *pflag.FlagSet) {
	f.StringVar(&r.path, recipientsName, "", "`file` of the age recipients, one a line, that the seeds of pools are sealed to")
}

// read returns the recipients, nil where none are named.
func (r *recipientsFlag) read() (*proof.Recipients, error) {
	if r.path == "" {
		return nil, nil //nolint:nilnil // no recipients are what nil says
	}
	text, err := readPrivate(r.path)
	if err != nil {
		return nil, usageError{fmt.Errorf("--seed-recipients: %w", err)}
	}
	to, err := proof.ParseRecipients(string(text))
	if err != nil {
		return nil, usageError{fmt.Errorf("--seed-recipients: %s", message(err))}
	}
	return to, nil
}
