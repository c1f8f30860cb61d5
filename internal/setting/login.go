package setting

import (
	"errors"
	"net/url"
	"strings"
	"sync/atomic"
)

// Login is the user and password of a database, which follow the file of its URL. It is
// safe for concurrent use.
type Login struct {
	path string
	// url is the URL that was opened.
	url  string
	last atomic.Pointer[url.Userinfo]
}

// Use makes the user and password of a text of the file those of new connections. Error:
// why it cannot be used; only the user and the password can change.
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

// parseLogin parses a URL. Its error does not contain any of it.
func parseLogin(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil || holdsRawPassword(text) {
		return nil, errors.New("it is not a URL")
	}
	return u, nil
}

// next returns the user and password of the next connection from the current file, so
// that a changed password is used at once. If the file cannot be used, it returns the
// last ones that could; nil means those of the opened URL.
func (l *Login) next() *url.Userinfo {
	if text, err := ReadPrivate(l.path); err == nil {
		_ = l.Use(text) // the watcher of the file reports the error
	}
	return l.last.Load()
}
