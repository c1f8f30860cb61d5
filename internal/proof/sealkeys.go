package proof

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"filippo.io/age"
	"filippo.io/age/plugin"

	"drawsvc/internal/draw"
)

// parseKeys reads keys of age, one on each line. It skips empty lines and lines that
// begin with #.
func parseKeys[T any](text string, parse func(line string) (T, error)) (keys []T, err error) {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, err := parse(line)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("there is none")
	}
	return keys, nil
}

// parseRecipient reads a recipient of age itself or of a plugin. Recipients of plugins
// have an additional name.
func parseRecipient(line string) (age.Recipient, error) {
	own, err := age.ParseRecipients(strings.NewReader(line))
	if err == nil {
		return own[0], nil
	}
	if other, notOther := plugin.NewRecipient(line, nobody()); notOther == nil {
		return other, nil
	}
	return nil, err
}

// parseIdentity reads an identity of age itself or of a plugin. A plugin unseals with a
// hardware token or a key service.
func parseIdentity(line string) (age.Identity, error) {
	if strings.HasPrefix(line, "AGE-PLUGIN-") {
		other, err := plugin.NewIdentity(line, nobody())
		return patient{other}, err
	}
	own, err := age.ParseIdentities(strings.NewReader(line))
	if err != nil {
		return nil, err
	}
	return own[0], nil
}

// nobody refuses every question that a plugin asks, because a service unseals without a
// user.
func nobody() *plugin.ClientUI {
	return &plugin.ClientUI{DisplayMessage: func(string, string) error { return nil }}
}

// pluginMax is the maximum time for a plugin to unseal.
const pluginMax = 10 * time.Second

// patient is a plugin's identity with a timeout of pluginMax.
type patient struct{ *plugin.Identity }

// Unwrap implements age.Identity. After the timeout, a plugin that does not answer keeps
// running.
func (p patient) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	type answer struct {
		key []byte
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		key, err := p.Identity.Unwrap(stanzas)
		answered <- answer{key, err}
	}()
	select {
	case a := <-answered:
		return a.key, a.err
	case <-time.After(pluginMax):
		return nil, fmt.Errorf("age-plugin-%s did not answer within %v", p.Name(), pluginMax)
	}
}

// recipientOf returns the recipient of an identity. Error: CodeInvalidRequest if the
// identity does not disclose it.
func recipientOf(identity age.Identity) (age.Recipient, error) {
	switch own := identity.(type) {
	case *age.X25519Identity:
		return own.Recipient(), nil
	case *age.HybridIdentity:
		return own.Recipient(), nil
	case patient:
		return own.Recipient(), nil // the plugin finds the recipient
	}
	return nil, draw.Errorf(draw.CodeInvalidRequest, "an identity does not tell its recipient: name it by --seed-recipients")
}
