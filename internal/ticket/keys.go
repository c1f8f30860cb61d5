package ticket

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/golang-jwt/jwt/v5"
)

const (
	// KeysMax is the maximum number of keys in a file.
	KeysMax = 64
	// secretMin is the minimum length of a secret of HS256, in bytes (RFC 7518, 3.2).
	secretMin = 32
)

// key verifies by only one algorithm.
type key struct {
	method jwt.SigningMethod
	// verifies is a []byte or an ed25519.PublicKey, as the method requires.
	verifies any
}

// Set holds the currently valid keys, by their ids.
type Set map[string]key

// jwk is one key of a file (RFC 7517). Members that are not listed here are ignored.
type jwk struct {
	ID        string `json:"kid"`
	Type      string `json:"kty"`
	Algorithm string `json:"alg"`
	Use       string `json:"use"`
	Curve     string `json:"crv"`
	Secret    string `json:"k"`
	Public    string `json:"x"`
	Private   string `json:"d"`
}

// ParseKeys reads the text of a JWKS: 1 to KeysMax keys, each with a distinct id. Their
// type is oct, for HS256, or OKP with Ed25519. An error says which key is wrong, and
// contains no part of a key.
func ParseKeys(text []byte) (Set, error) {
	var file struct {
		Keys []jwk `json:"keys"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, errors.New(`must be a JWKS such as {"keys":[{"kty":"oct","kid":"2026-11","k":"…"}]}`)
	}
	if len(file.Keys) == 0 || len(file.Keys) > KeysMax {
		return nil, fmt.Errorf("must hold 1 to %d keys, and holds %d", KeysMax, len(file.Keys))
	}
	set := Set{}
	for i := range file.Keys {
		k := &file.Keys[i]
		made, err := k.key()
		if _, twice := set[k.ID]; twice && err == nil {
			err = errors.New("another key has the same kid")
		}
		if err != nil {
			return nil, fmt.Errorf("key %d (%q): %w", i+1, k.ID, err)
		}
		set[k.ID] = made
	}
	return set, nil
}

func (k *jwk) key() (key, error) {
	switch {
	case k.ID == "":
		return key{}, errors.New("kid is missing: tickets name their key by it")
	case k.Use != "" && k.Use != "sig":
		return key{}, errors.New("use must be sig, or left out")
	}
	switch k.Type {
	case "oct":
		return k.secret()
	case "OKP":
		return k.public()
	}
	return key{}, errors.New("kty must be oct or OKP")
}

func (k *jwk) secret() (key, error) {
	if k.Algorithm != "" && k.Algorithm != jwt.SigningMethodHS256.Alg() {
		return key{}, errors.New("alg of an oct key must be HS256, or left out")
	}
	secret, err := base64.RawURLEncoding.DecodeString(k.Secret)
	if err != nil || len(secret) < secretMin {
		return key{}, fmt.Errorf("k must be at least %d bytes, in base64url without padding", secretMin)
	}
	return key{jwt.SigningMethodHS256, secret}, nil
}

func (k *jwk) public() (key, error) {
	if k.Curve != "Ed25519" {
		return key{}, errors.New("crv of an OKP key must be Ed25519")
	}
	if k.Algorithm != "" && k.Algorithm != jwt.SigningMethodEdDSA.Alg() && k.Algorithm != "Ed25519" {
		return key{}, errors.New("alg of an Ed25519 key must be EdDSA, or left out")
	}
	if k.Private != "" {
		return key{}, errors.New("d is the private key, which stays with the issuer: leave it out")
	}
	public, err := base64.RawURLEncoding.DecodeString(k.Public)
	if err != nil || len(public) != ed25519.PublicKeySize {
		return key{}, fmt.Errorf("x must be %d bytes, in base64url without padding", ed25519.PublicKeySize)
	}
	return key{jwt.SigningMethodEdDSA, ed25519.PublicKey(public)}, nil
}
