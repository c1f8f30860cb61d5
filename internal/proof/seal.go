package proof

import (
	"bytes"
	"io"

	"filippo.io/age"

	"drawsvc/internal/draw"
)

// Recipients are the public keys to which secrets are sealed. The identity of any one of
// them unseals the secrets.
type Recipients struct{ list []age.Recipient }

// ParseRecipients reads age recipients, one on each line, including those of plugins.
// Error: CodeInvalidRequest.
func ParseRecipients(text string) (*Recipients, error) {
	list, err := parseKeys(text, parseRecipient)
	if err != nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "age recipients, one a line, cannot be read: %v", err)
	}
	return &Recipients{list}, nil
}

// And returns these recipients together with others.
func (r *Recipients) And(other *Recipients) *Recipients {
	return &Recipients{append(r.list[:len(r.list):len(r.list)], other.list...)}
}

// Seal seals a secret to the recipients.
func (r *Recipients) Seal(secret []byte) ([]byte, error) {
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, r.list...)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(secret); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return sealed.Bytes(), nil
}

// Identities unseal secrets that were sealed to the recipient of any of them. nil means
// that there is no identity.
type Identities struct{ list []age.Identity }

// ParseIdentities reads age identities, one on each line, including those of plugins. Its
// error is CodeInvalidRequest, and contains no part of the text.
func ParseIdentities(text string) (*Identities, error) {
	list, err := parseKeys(text, parseIdentity)
	if err != nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the text holds no age identities, one a line")
	}
	return &Identities{list}, nil
}

// NewIdentity creates an identity, as a line of a file of identities.
func NewIdentity() (string, error) {
	made, err := age.GenerateX25519Identity()
	if err != nil {
		return "", err
	}
	return made.String() + "\n", nil
}

// Recipients returns the recipients of the identities. Error: CodeInvalidRequest for an
// identity whose recipient is not known.
func (i *Identities) Recipients() (*Recipients, error) {
	var to Recipients
	for _, one := range i.list {
		own, err := recipientOf(one)
		if err != nil {
			return nil, err
		}
		to.list = append(to.list, own)
	}
	return &to, nil
}

// Unseal returns the sealed secret. Error: CodeSeedUnavailable, also if i is nil.
func (i *Identities) Unseal(sealed []byte) ([]byte, error) {
	if i == nil {
		return nil, draw.Errorf(draw.CodeSeedUnavailable, "no identity that unseals seeds is at hand: name it by --seed-identity-file")
	}
	r, err := age.Decrypt(bytes.NewReader(sealed), i.list...)
	if err != nil {
		return nil, draw.Wrap(draw.CodeSeedUnavailable, err, "the identity at hand does not unseal the seeds of the pool")
	}
	secret, err := io.ReadAll(r)
	if err != nil {
		return nil, draw.Wrap(draw.CodeSeedUnavailable, err, "what is sealed for the pool is damaged")
	}
	return secret, nil
}

// Secrets are the secrets of a committed pool.
type Secrets struct {
	// Seed is the last seed of the chain.
	Seed  Seed
	Salts Salts
	// Signer is the secret text of the pool's key, which signs.
	Signer string
}

// Sealed are Secrets, each sealed separately, because the secret of the tags may be
// destroyed while the others are kept.
type Sealed struct{ Seed, Salts, Signer []byte }

// Seal seals the secrets.
func (s *Secrets) Seal(to *Recipients) (sealed Sealed, err error) {
	for _, one := range []struct {
		secret []byte
		sealed *[]byte
	}{{s.Seed[:], &sealed.Seed}, {s.Salts[:], &sealed.Salts}, {[]byte(s.Signer), &sealed.Signer}} {
		if *one.sealed, err = to.Seal(one.secret); err != nil {
			return Sealed{}, err
		}
	}
	return sealed, nil
}

// Open unseals the secrets. Errors: CodeSeedUnavailable, and CodeNotFound if the secret
// of the tags was destroyed.
func (s *Sealed) Open(by *Identities) (secrets Secrets, err error) {
	if secrets, err = s.OpenNames(by); err != nil {
		return secrets, err
	}
	seed, err := by.Unseal(s.Seed)
	if err == nil && (copy(secrets.Seed[:], seed) != len(secrets.Seed) || len(seed) != len(secrets.Seed)) {
		err = errOtherSize()
	}
	return secrets, err
}

// OpenNames unseals the secrets for writing and signing lines: all except the seed.
// Errors: those of Open.
func (s *Sealed) OpenNames(by *Identities) (secrets Secrets, err error) {
	if len(s.Salts) == 0 {
		return secrets, draw.Errorf(draw.CodeNotFound, "the secret of the pool's tags was destroyed: its log can no longer be written, and what was published stays")
	}
	salts, err := by.Unseal(s.Salts)
	if err != nil {
		return secrets, err
	}
	signer, err := by.Unseal(s.Signer)
	if err == nil && (copy(secrets.Salts[:], salts) != len(secrets.Salts) || len(salts) != len(secrets.Salts)) {
		err = errOtherSize()
	}
	secrets.Signer = string(signer)
	return secrets, err
}

func errOtherSize() error {
	return draw.Errorf(draw.CodeSeedUnavailable, "what is sealed for the pool has another size")
}
