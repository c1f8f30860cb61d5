package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"strings"
	"sync"
	"sync/atomic"

	"drawsvc/internal/draw"
)

const (
	// KeysMax is the maximum number of keys of a file.
	KeysMax = 16
	// keyLength is the length of a key, in bytes.
	keyLength = 32
	// DigestLength is the length of a digest, in bytes.
	DigestLength = 16
)

// Key is one seal key with its derived keys.
type Key struct {
	ID    string
	aead  cipher.AEAD
	finds *sync.Pool // of hashes with the key of digests
}

// Ring holds the keys of a file. The first key seals, and every key opens. The nil Ring
// has no keys.
type Ring struct{ keys []*Key }

// ParseKeys reads a file of seal keys. Its lines are ID BASE64, or empty; # begins a
// comment. No error contains a key.
func ParseKeys(text []byte) (*Ring, error) {
	ring := &Ring{}
	for i, line := range strings.Split(string(bytes.TrimPrefix(text, []byte("\ufeff"))), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		key, err := parseKey(fields)
		if err == nil && ring.Key(key.ID) != nil {
			err = fmt.Errorf("the key %q is there twice", key.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if ring.keys = append(ring.keys, key); len(ring.keys) > KeysMax {
			return nil, fmt.Errorf("line %d: more than %d keys", i+1, KeysMax)
		}
	}
	if len(ring.keys) == 0 {
		return nil, errors.New("the file has no key; make one with drawsvc seal-key new")
	}
	return ring, nil
}

func parseKey(fields []string) (*Key, error) {
	if len(fields) != 2 {
		return nil, errors.New("not of the form ID BASE64")
	}
	if err := draw.CheckID("the id of the key", fields[0]); err != nil {
		return nil, errors.New(draw.DetailOf(err))
	}
	secret, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil || len(secret) != keyLength {
		return nil, fmt.Errorf("the key %q is not the base64 of %d bytes", fields[0], keyLength)
	}
	return newKey(fields[0], secret)
}

func newKey(id string, secret []byte) (*Key, error) {
	seals, err := hkdf.Key(sha256.New, secret, nil, "drawsvc seal v1", keyLength)
	if err != nil {
		return nil, err
	}
	finds, err := hkdf.Key(sha256.New, secret, nil, "drawsvc digest v1", keyLength)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(seals)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	digests := &sync.Pool{New: func() any { return hmac.New(sha256.New, finds) }}
	return &Key{ID: id, aead: aead, finds: digests}, err
}

// NewLine returns a line for a file of seal keys, with a new random key.
func NewLine(id string) (string, error) {
	if err := draw.CheckID("the id of the key", id); err != nil {
		return "", err
	}
	secret := make([]byte, keyLength)
	_, _ = rand.Read(secret) // it never fails
	return id + " " + base64.StdEncoding.EncodeToString(secret), nil
}

// First returns the key that seals, nil for a ring without keys.
func (r *Ring) First() *Key {
	if r == nil || len(r.keys) == 0 {
		return nil
	}
	return r.keys[0]
}

// Key returns the key with an id, nil if the ring does not have it.
func (r *Ring) Key(id string) *Key {
	if r == nil {
		return nil
	}
	for _, k := range r.keys {
		if k.ID == id {
			return k
		}
	}
	return nil
}

// Keys returns all keys, the first one first.
func (r *Ring) Keys() []*Key {
	if r == nil {
		return nil
	}
	return r.keys
}

// Seal seals a value. The result is a nonce, then the output of AES-256-GCM. The
// parameter of names the owner of the value; the value opens only with the same name.
func (k *Key) Seal(of string, value []byte) []byte {
	sealed := make([]byte, k.aead.NonceSize(), k.aead.NonceSize()+len(value)+k.aead.Overhead())
	_, _ = rand.Read(sealed) // it never fails
	return k.aead.Seal(sealed, sealed, value, []byte(of))
}

// errNotOpened does not name the value or its key.
var errNotOpened = errors.New("seal: the value does not open")

// Open opens a value that Seal has sealed for the same name.
func (k *Key) Open(of string, sealed []byte) ([]byte, error) {
	return k.OpenInto(nil, []byte(of), sealed)
}

// OpenInto opens a value as Open does, in the memory of buffer if that is large enough.
// buffer may be nil.
func (k *Key) OpenInto(buffer, of, sealed []byte) ([]byte, error) {
	n := k.aead.NonceSize()
	if len(sealed) < n {
		return nil, errNotOpened
	}
	value, err := k.aead.Open(buffer[:0], sealed[:n], sealed[n:], of)
	if err != nil {
		return nil, errNotOpened
	}
	return value, nil
}

// Digest returns a digest for finding a value: equal values have equal digests under
// one key, and the digest reveals nothing about the value without the key.
func (k *Key) Digest(value []byte) (digest [DigestLength]byte) {
	sum := k.finds.Get().(hash.Hash)
	defer k.finds.Put(sum)
	sum.Reset()
	_, _ = sum.Write(value) // a hash never returns an error
	var whole [sha256.Size]byte
	copy(digest[:], sum.Sum(whole[:0]))
	return digest
}

// Keeper holds the ring in use, which may be replaced. The zero value has no keys.
type Keeper struct{ ring atomic.Pointer[Ring] }

// Ring returns the ring in use, nil for none.
func (k *Keeper) Ring() *Ring {
	if k == nil {
		return nil
	}
	return k.ring.Load()
}

// Replace makes r the ring in use.
func (k *Keeper) Replace(r *Ring) { k.ring.Store(r) }
