package access

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
)

const (
	// FileMax is the maximum number of tokens in a file.
	FileMax = 64
	// FileBytesMax is the maximum size of a file that is read, in bytes.
	FileBytesMax = 64 << 10
)

type file struct {
	Tokens []jsontext.Value `json:"tokens"`
}

type entry struct {
	Name   string `json:"name"`
	Role   string `json:"role"`
	SHA256 string `json:"sha256"`
	Until  string `json:"until,omitempty"`
}

// errLater is the error of an entry with a member or a role that this release does not
// know.
var errLater = errors.New("has a member or a role that this release does not know")

// ParseFile reads the text of a token file:
// {"tokens":[{"name","role","sha256","until"?}]}, 1 to FileMax entries. Entries with a
// member or a role of a later release are ignored, because such an entry may also forbid
// something; unread describes them. An error states which entry is wrong. Neither err nor
// unread contains any part of a digest.
func ParseFile(text []byte) (tokens []Token, unread []string, err error) {
	var f file
	if err := json.Unmarshal(text, &f, json.RejectUnknownMembers(true)); err != nil {
		return nil, nil, errNotTokens()
	}
	if len(f.Tokens) == 0 || len(f.Tokens) > FileMax {
		return nil, nil, fmt.Errorf("must hold 1 to %d tokens, and holds %d", FileMax, len(f.Tokens))
	}
	for i, value := range f.Tokens {
		e, err := parseEntry(value)
		var t Token
		if err == nil {
			t, err = e.token()
		}
		switch {
		case errors.Is(err, errLater):
			unread = append(unread, fmt.Sprintf("entry %d (%q) %s", i+1, e.Name, err))
		case err != nil && e == (entry{}):
			return nil, nil, err
		case err != nil:
			return nil, nil, fmt.Errorf("entry %d (%q): %w", i+1, e.Name, err)
		default:
			tokens = append(tokens, t)
		}
	}
	if _, err := NewSet(tokens...); err != nil {
		return nil, nil, err
	}
	return tokens, unread, nil
}

func errNotTokens() error {
	return errors.New(`must be JSON such as {"tokens":[{"name":"ci","role":"admin","sha256":"…"}]}`)
}

// parseEntry reads one entry. Errors: errLater, then with the entry's name, and the error
// of errNotTokens.
func parseEntry(value jsontext.Value) (e entry, err error) {
	err = json.Unmarshal(value, &e, json.RejectUnknownMembers(true))
	if !errors.Is(err, json.ErrUnknownName) {
		if err != nil {
			return entry{}, errNotTokens()
		}
		return e, nil
	}
	var later entry
	if json.Unmarshal(value, &later) != nil {
		return entry{}, errNotTokens()
	}
	return entry{Name: later.Name}, errLater
}

func (e *entry) token() (Token, error) {
	t := Token{Name: e.Name, Role: Role(e.Role)}
	if e.Role != "" && !slices.Contains(Roles(), t.Role) {
		return t, errLater
	}
	if err := t.check(); err != nil {
		return t, err
	}
	sum, err := hex.DecodeString(strings.ToLower(e.SHA256))
	if err != nil || len(sum) != len(t.Digest) {
		return t, errors.New("sha256 must be 64 hexadecimal digits, as drawsvc token new prints it")
	}
	copy(t.Digest[:], sum)
	if isOfNothing(t.Digest) {
		return t, errors.New("sha256 is the digest of an empty token: the variable or file that it was computed from was empty")
	}
	if e.Until != "" {
		if t.Until, err = draw.ParseTime("until", e.Until); err != nil {
			return t, errors.New(draw.DetailOf(err))
		}
	}
	return t, nil
}

// isOfNothing reports whether d is the digest of an empty text, with or without a line
// break. Such a digest comes from a command such as `printf %s "$UNSET" | sha256sum`.
func isOfNothing(d Digest) bool {
	return slices.Contains([]Digest{DigestOf(""), DigestOf("\n"), DigestOf("\r\n")}, d)
}

// FileEntry returns the entry of a token for a token file, as JSON.
func FileEntry(t *Token) (string, error) {
	e := entry{Name: t.Name, Role: string(t.Role), SHA256: t.Digest.String()}
	if !t.Until.IsZero() {
		e.Until = t.Until.UTC().Format(time.RFC3339)
	}
	line, err := json.Marshal(e)
	return string(line), err
}
