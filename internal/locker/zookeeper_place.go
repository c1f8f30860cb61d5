package locker

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"drawsvc/internal/draw"
)

// zkPlace contains the servers of a URL, the folder for the locks on them, and its user.
type zkPlace struct {
	servers []string
	folder  string
	// user and password are "" if everybody who can reach the servers may use the folder.
	user, password string
}

func zooKeeperPlace(rest string) (at zkPlace, err error) {
	authority, path, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "/")
	hosts, isWhole := authority, true
	if end := strings.LastIndex(authority, "@"); end >= 0 {
		hosts = authority[end+1:]
		isWhole = at.readUser(authority[:end])
	}
	at.servers, at.folder = strings.Split(hosts, ","), "/"+strings.Trim(path, "/")
	if at.folder == "/" {
		at.folder = "/drawsvc"
	}
	if !isWhole || !strings.HasPrefix(rest, "//") || slices.Contains(at.servers, "") || strings.ContainsAny(hosts+path, "@?#") || strings.Contains(at.folder, "//") {
		return at, draw.Errorf(draw.CodeInvalidRequest, "lock must be zookeeper://HOST:PORT,HOST:PORT,…/PATH, optionally with USER:PASSWORD@ before the hosts")
	}
	return at, nil
}

// readUser reads USER:PASSWORD, percent-encoded. It reports whether text has that form.
func (at *zkPlace) readUser(text string) bool {
	user, password, isPair := strings.Cut(text, ":")
	var wrong, wrongToo error
	at.user, wrong = url.PathUnescape(user)
	at.password, wrongToo = url.PathUnescape(password)
	return isPair && wrong == nil && wrongToo == nil && at.user != "" && at.password != "" && !strings.Contains(at.user, ":")
}

// acl returns the access list for nodes. If there is a user, only that user may change
// them.
func (at *zkPlace) acl() []zk.ACL {
	if at.user == "" {
		return zk.WorldACL(zk.PermAll)
	}
	return zk.DigestACL(zk.PermAll, at.user, at.password)
}

// awaitReady waits briefly for a connection that has authenticated the user. If everybody
// may change the folder, it returns an error, because others could then take a lock away
// from its holder.
func (z *zookeeper) awaitReady(ctx context.Context) error {
	if err := z.session.awaitReady(ctx); err != nil || z.user == "" {
		return err
	}
	if !z.isKnown.Load() { // on later connections, the client authenticates by itself
		_, err := zkCall(z.session, func(c *zk.Conn) (bool, error) { return true, c.AddAuth("digest", []byte(z.user+":"+z.password)) })
		if err != nil {
			return err
		}
		z.isKnown.Store(true)
	}
	if z.isClosed.Load() {
		return nil
	}
	entries, err := zkCall(z.session, func(c *zk.Conn) ([]zk.ACL, error) {
		entries, _, err := c.GetACL(z.folder)
		return entries, err
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil // the folder will be created with a closed access list
	case err != nil:
		return err
	case slices.ContainsFunc(entries, isOpen):
		return fmt.Errorf("everybody may change the nodes of ZooKeeper in %s: use another path, or restrict it", z.folder)
	}
	z.isClosed.Store(true)
	return nil
}

// isOpen reports whether an entry of an access list allows everybody to change nodes.
func isOpen(entry zk.ACL) bool { return entry.Scheme == "world" && entry.Perms&^zk.PermRead != 0 }
