package checkup

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLinks(t *testing.T) {
	t.Parallel()
	for url, remote := range map[string]string{
		"postgres://u:secret@db.example:5432/d":                           "db.example",
		"postgres://u:secret@a.example,127.0.0.1/d?sslmode=prefer":        "a.example",
		"postgres://u:secret@db.example/d?sslmode=verify-full":            "",
		"postgres://u:secret@db.example/d?sslmode=require":                "db.example",
		"postgres://u:secret@db.example/d?sslmode=require&sslrootcert=ca": "",
		"postgres://u:secret@[::1]:5432/d":                                "",
		"postgres://u@/d?host=/run/postgresql":                            "",
		"mysql://u:secret@10.1.2.3:3306/d":                                "10.1.2.3",
		"mysql://u:secret@10.1.2.3:3306/d?tls=skip-verify":                "10.1.2.3",
		"mysql://u:secret@10.1.2.3:3306/d?tls=true":                       "",
		"mysql://u:secret@localhost/d":                                    "",
		"redis://a.example:6379,b.example:6379/0":                         "a.example, b.example",
		"rediss://a.example:6379/0":                                       "",
		"etcd://127.0.0.1:2379":                                           "",
		"zookeeper://zk.example:2181/locks":                               "zk.example",
		"sqlite:/data/drawsvc.db":                                         "",
		"table:":                                                          "",
	} {
		found := slices.Concat(Links(url, "table:", "table:"), Links("sqlite:x", url, "table:"), Links("sqlite:x", "table:", url))
		if remote == "" {
			require.Empty(t, found, url)
			continue
		}
		require.Len(t, found, 3, url)
		require.Equal(t, "the database at "+remote+" is reached without verified TLS", found[0].Detail)
		require.Equal(t, "the lock service at "+remote+" is reached without verified TLS", found[1].Detail)
		require.Equal(t, "the lock service of jobs at "+remote+" is reached without verified TLS", found[2].Detail)
		require.Contains(t, found[2].Remedy, "--jobs-lock")
		for _, f := range found {
			require.NotContains(t, f.Detail+f.Why+f.Remedy, "secret")
		}
	}
}
