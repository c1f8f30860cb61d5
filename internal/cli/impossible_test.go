package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestImpossibleValuesAreUsageErrors: a value that no machine can use is a usage error:
// one line names its flag, and nothing is created.
func TestImpossibleValuesAreUsageErrors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.db")
	p := on(t, "sqlite:"+file)
	nowhere := filepath.Join(t.TempDir(), "nothing")
	for _, c := range []struct{ flag, value, part string }{
		{"listen", "127.0.0.1:99999", `port from 0 to 65535, not "99999"`},
		{"listen", "127.0.0.1:-1", "--listen must be"},
		{"listen", "127.0.0.1:0x", "--listen must be"},
		{"metrics-listen", "127.0.0.1:65536", "--metrics-listen must be"},
		{"lock", "x", "--lock: lock must be one of"},
		{"lock", "ftp://x", "--lock: lock must be one of"},
		{"lock", "table:x", "--lock: lock \"table:\" takes nothing after the colon"},
		{"lock", "redis://a:1,b:2/0", "--lock: lock must be redis://"},
		{"lock", "zookeeper://a:1,,b:1/x", "--lock: lock must be zookeeper://"},
		{"jobs-lock", "etcd://a:1/path", "--jobs-lock: lock must be etcd://"},
		{"jobs-lock", "redis://user:hunter2@a:1/x", "--jobs-lock: lock \"a:1\" is not a Redis host"},
		{"origin", "a/b", "--origin: the origin must be a host"},
		{"origin", "https://draws.example.org", "--origin: the origin must be a host"},
		{"operator-name", strings.Repeat("ä", 61), "--operator-name is longer than 60 characters"},
		{"operator-name", " ", "--operator-name has a blank at an end"},
		{"operator-name", "Two\nlines", "--operator-name holds a character that is not printable"},
		{"origin", "draws example", "--origin: the origin must be a host"},
		{"origin", "draws.example.org:http", "--origin: the origin must be a host"},
		{"jobs-lock", "x", "--jobs-lock: lock must be one of"},
		{"optimistic-tries", "x", `--optimistic-tries must be a whole number, not "x"`},
		{"lock-ttl", "5", `--lock-ttl must be a time such as 500ms, 10s or 1h, not "5"`},
		{"migrate", "x", `--migrate must be true or false, not "x"`},
		{"catalogue-url", "x", "--catalogue-url: "},
		{"tls-cert", nowhere, "--tls-cert and --tls-key"},
		{"admin-token-file", nowhere, "--admin-token-file: "},
		{"seed-identity-file", nowhere, "--seed-identity-file: "},
		{"seed-recipients", nowhere, "--seed-recipients: "},
	} {
		args := []string{"serve", "--" + c.flag + "=" + c.value}
		if c.flag == "tls-cert" {
			args = append(args, "--tls-key="+nowhere)
		}
		p.refused(exitUsage, c.part, args...)
		require.NoFileExists(t, file, c.flag)
	}
	p.vars["DRAWSVC_BATCH_MAX"] = "many"
	p.refused(exitUsage, `DRAWSVC_BATCH_MAX: --batch-max must be a whole number, not "many"`, "serve")
}
