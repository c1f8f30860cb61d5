package servertest

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nginxMax is the maximum time until nginx listens.
const nginxMax = 2 * time.Minute

// These expressions match, in the page about reverse proxies, the configuration of nginx,
// its line for an instance, and its lines that limit each caller.
var (
	nginxBlock    = regexp.MustCompile("(?s)```nginx\n(.*?)```")
	nginxInstance = regexp.MustCompile(`(?m)^ *server 127\.0\.0\.1:8080.*\n`)
	nginxBounds   = regexp.MustCompile(`(?m)^ *limit_(req|conn)[ _].*\n`)
)

// NginxOfPage returns the nginx configuration of the page about reverse proxies, with the
// addresses of a test. It repeats the page's line for an instance for each instance.
func NginxOfPage(tb testing.TB, page, listen string, instances ...string) string {
	tb.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		tb.Fatal(err)
	}
	block := nginxBlock.FindSubmatch(text)
	if block == nil {
		tb.Fatalf("%s has no configuration of nginx", page)
	}
	config := string(block[1])
	line := nginxInstance.FindString(config)
	if line == "" || !strings.Contains(config, "127.0.0.1:8081") {
		tb.Fatalf("%s names no instance, or listens nowhere", page)
	}
	var lines strings.Builder
	for _, instance := range instances {
		lines.WriteString(strings.Replace(line, "127.0.0.1:8080", instance, 1))
	}
	return strings.NewReplacer(line, lines.String(), "127.0.0.1:8081", listen).Replace(config)
}

// WithoutCallerBounds removes the limits for each caller from a configuration, because
// all load of a test comes from one address.
func WithoutCallerBounds(config string) string {
	return nginxBounds.ReplaceAllString(config, "")
}

// StartNginx starts a real nginx with the given servers in its configuration. It returns
// when nginx listens on the address. nginx ends with the test.
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
		_ = cmd.Wait() // it returns an error, because a signal ended the process
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
