package setting

import (
	"fmt"

	"github.com/spf13/pflag"

	"drawsvc/internal/proof"
)

// IdentityFlag is --seed-identity-file: the age identities that unseal the secrets of
// committed pools.
type IdentityFlag struct {
	Path  string
	Flags *pflag.FlagSet
}

// IdentityName and RecipientsName are the names of the flags.
const (
	IdentityName   = "seed-identity-file"
	RecipientsName = "seed-recipients"
)

// Flag declares the flag.
func (i *IdentityFlag) Flag(f *pflag.FlagSet) {
	i.Flags = f
	f.StringVar(&i.Path, IdentityName, "", "`file` of the age identities that unseal the seeds of committed pools")
}

// Read returns the identities, nil if none are named.
func (i *IdentityFlag) Read() (*proof.Identities, error) {
	if i.Path == "" {
		return nil, nil //nolint:nilnil // no identities are what nil says
	}
	text, err := ReadPrivate(i.Path)
	if err != nil {
		return nil, AsUsage(fmt.Errorf("--seed-identity-file: %w", err))
	}
	by, err := proof.ParseIdentities(string(text))
	if err != nil {
		return nil, AsUsage(fmt.Errorf("--seed-identity-file: %s", Message(err)))
	}
	return by, nil
}

// RecipientsFlag is --seed-recipients: the recipients to whom the secrets of a pool are
// sealed.
type RecipientsFlag struct{ path string }

// Flag declares the flag.
func (r *RecipientsFlag) Flag(f *pflag.FlagSet) {
	f.StringVar(&r.path, RecipientsName, "", "`file` of the age recipients, one per line, to which the seeds of pools are sealed")
}

// Read returns the recipients, nil if none are named.
func (r *RecipientsFlag) Read() (*proof.Recipients, error) {
	if r.path == "" {
		return nil, nil //nolint:nilnil // no recipients are what nil says
	}
	text, err := ReadPrivate(r.path)
	if err != nil {
		return nil, AsUsage(fmt.Errorf("--seed-recipients: %w", err))
	}
	to, err := proof.ParseRecipients(string(text))
	if err != nil {
		return nil, AsUsage(fmt.Errorf("--seed-recipients: %s", Message(err)))
	}
	return to, nil
}

// CheckOrigin checks the value of --origin.
func CheckOrigin(host string) error {
	if err := proof.CheckHost(host); err != nil {
		return fmt.Errorf("--origin: %s", Message(err))
	}
	return nil
}
