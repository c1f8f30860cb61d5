package checkup

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Links checks the URLs of the database and of the lock services. Without TLS, traffic to
// another machine can be read and changed on the network. The findings contain only host
// names: other parts of a URL may contain a password.
func Links(database, lock, jobsLock string) (found []Finding) {
	for _, link := range []struct{ what, flag, url string }{
		{"database", "--database", database}, {"lock service", "--lock", lock}, {"lock service of jobs", "--jobs-lock", jobsLock},
	} {
		remote := remoteHosts(link.url)
		advice := plainLink(link.url)
		if len(remote) == 0 || advice == "" {
			continue
		}
		found = append(found, Finding{
			Level: LevelWarning, Rule: "no-tls", Detail: fmt.Sprintf("the %s at %s is reached without verified TLS", link.what, strings.Join(remote, ", ")),
			Why:    "anyone on the network between can read passwords and draws, and change them",
			Remedy: advice + " in " + link.flag,
		})
	}
	return found
}

// plainLink returns the setting that would verify the connection of a URL, "" if the
// connection is already verified.
func plainLink(raw string) string {
	scheme, rest, _ := strings.Cut(raw, "://")
	_, query, _ := strings.Cut(rest, "?")
	values, _ := url.ParseQuery(query) // an unreadable part sets nothing
	switch scheme {
	case "postgres", "postgresql":
		mode := values.Get("sslmode")
		// If a certificate authority is given, the driver treats "require" as
		// "verify-ca". Otherwise it accepts any certificate.
		if isVerified := strings.HasPrefix(mode, "verify-") || mode == "require" && values.Get("sslrootcert") != ""; !isVerified {
			return "write sslmode=verify-full (with sslrootcert)"
		}
	case "mysql":
		if slices.Contains([]string{"", "false", "preferred", "skip-verify"}, values.Get("tls")) {
			return "write tls=true"
		}
	case "redis":
		return "reach the server through a tunnel, and name its end on this machine"
	case "etcd", "zookeeper":
		return "reach the servers through a tunnel, and name its end on this machine"
	}
	return ""
}

// remoteHosts returns the hosts of a URL that are not this machine.
func remoteHosts(raw string) (remote []string) {
	_, rest, hasHost := strings.Cut(raw, "://")
	if !hasHost {
		return nil
	}
	if end := strings.IndexAny(rest, "/?"); end >= 0 {
		rest = rest[:end]
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		rest = rest[at+1:]
	}
	for host := range strings.SplitSeq(rest, ",") {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		host = strings.Trim(host, "[]")
		ip := net.ParseIP(host)
		if host != "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			remote = append(remote, host)
		}
	}
	return remote
}
