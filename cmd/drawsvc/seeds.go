package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"drawsvc/internal/proof"
)

// identityFlag is --seed-identity-file: the age identities that unseal what
// committed pools keep secret.
type identityFlag struct{ path string }

func (i *identityFlag) flag(f *pflag.FlagSet) {
	f.StringVar(&i.path, "seed-identity-file", "", "`file` of the age identities that unseal the seeds of committed pools")
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

// recipientsFlag is --seed-recipients: those that the secrets of a pool are
// sealed to.
type recipientsFlag struct{ path string }

func (r *recipientsFlag) flag(f *pflag.FlagSet) {
	f.StringVar(&r.path, "seed-recipients", "", "`file` of the age recipients, one a line, that the seeds of pools are sealed to")
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
