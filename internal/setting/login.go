package setting

import (
	"errors"
	"net/url"
	"strings"
	"sync/atomic"
)

// Login is the user and password of a database. They are read again when the file with
// the URL changes. It is safe for concurrent use.
type Login struct {
	path string
	// url is the URL that was opened.
	url  string
	last atomic.Pointer[url.Userinfo]
}

// Use takes the user and password for new connections from the new text of the file. It
// returns an error if the text cannot be used, for example if the host differs.
func (l *Login) Use(text []byte) error {
	was, err := parseLogin(l.url)
	if err != nil {
		return err
	}
	now, err := parseLogin(string(text))
	if err != nil {
		return err
	}
	user := now.User
	if was.User, now.User = nil, nil; was.String() != now.String() {
		return errors.New("only the user and the password are followed; restart to use another database")
	}
	l.last.Store(user)
	return nil
}

// parseLogin parses a URL. Its error contains no part of the URL.
func parseLogin(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil || holdsRawPassword(text) {
		return nil, errors.New("it is not a URL")
	}
	return u, nil
}

// next returns the user and password for the next connection. It reads the file, so that
// a changed password is used at once. If the file cannot be used, it returns the last
// usable ones. nil means the user and password of the opened URL.
func (l *Login) next() *url.Userinfo {
	if text, err := ReadPrivate(l.path); err == nil {
		_ = l.Use(text) // the watcher of the file reports the error
	}
	return l.last.Load()
}
