package draw

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of display texts.
const (
	// TextMax is the maximum length of a text for players, in characters.
	TextMax = 2000
	// AddressMax is the maximum length of the address of a picture or a link, in bytes.
	AddressMax = 2000
)

// Display holds the display texts of a prize: they affect no draw, create no version,
// and are in no log. An empty member is not shown.
type Display struct {
	// Name is shown to players in place of the prize's own.
	Name string
	Text string
	// Picture and Link are addresses of https.
	Picture, Link string
}

// DisplayChange is a request to change the display texts of a prize. Nil members do not
// change a text, and empty members remove it.
type DisplayChange struct{ Name, Text, Picture, Link *string }

// Check returns an error unless the change is valid and changes something.
func (c *DisplayChange) Check() error {
	if *c == (DisplayChange{}) {
		return Errorf(CodeInvalidRequest, "nothing to change: display has name, text, picture and link")
	}
	for _, part := range []struct {
		name  string
		value *string
		check func(what, s string) error
	}{{"display.name", c.Name, CheckName}, {"display.text", c.Text, CheckText}, {"display.picture", c.Picture, CheckAddress}, {"display.link", c.Link, CheckAddress}} {
		if part.value == nil || *part.value == "" {
			continue
		}
		if err := part.check(part.name, *part.value); err != nil {
			return err
		}
	}
	return nil
}

// Apply returns the display after the change.
func (c *DisplayChange) Apply(d Display) Display {
	for to, value := range map[*string]*string{&d.Name: c.Name, &d.Text: c.Text, &d.Picture: c.Picture, &d.Link: c.Link} {
		if value != nil {
			*to = *value
		}
	}
	return d
}

// CheckText returns an error unless s may be a text for players: 1 to TextMax printable
// characters, as in a name.
func CheckText(what, s string) error { return checkJoined(what, s, TextMax) }

// CheckAddress returns an error unless s is an absolute address of https in ASCII, without
// a user or a password, of at most AddressMax bytes.
func CheckAddress(what, s string) error {
	u, err := url.Parse(s)
	isAllowed := err == nil && len(s) <= AddressMax && utf8.ValidString(s) && strings.HasPrefix(s, "https://") && u.Hostname() != "" && u.User == nil
	if isAllowed && u.Port() != "" {
		_, err := strconv.ParseUint(u.Port(), 10, 16)
		isAllowed = err == nil
	}
	if !isAllowed || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"<>\\^`{|}", r) }) {
		return Errorf(CodeInvalidRequest, "%s must be an address that begins with https://, in ASCII, without a user, of at most %d bytes", what, AddressMax)
	}
	return nil
}
