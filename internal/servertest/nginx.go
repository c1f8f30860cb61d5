package servertest

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// nginxMax is the longest that a test waits for nginx to listen.
const nginxMax = 2 * time.Minute

// StartNginx starts a real nginx with the configuration of its servers, and returns
// when it listens on an address. It ends with the test.
func StartNginx(tb testing.TB, listen, config string) {
	tb.Helper()
	NeedPrograms(tb, "nginx-light", "/usr/sbin/nginx")
	folder := tb.TempDir()
	whole := "daemon off; master_process off; pid nginx.pid; error_log error.log; events {}\nhttp { access_log off;\n" +
		"client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;\n" +
		config + "}\n"
	file := filepath.Join(folder, "nginx.conf")
	if err := os.WriteFile(file, []byte(whole), 0o600); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), "/usr/sbin/nginx", "-p", folder, "-c", file)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	end := func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // it says that the signal ended it
	}
	for begun := time.Now(); time.Since(begun) < nginxMax; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", listen); err == nil {
			_ = c.Close()
			tb.Cleanup(end)
			return
		}
	}
	end()
	tb.Fatalf("nginx does not listen: %s", output.String())
}
