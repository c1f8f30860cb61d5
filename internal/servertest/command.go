package servertest

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// command prepares a program that works in the server's folder and writes to the server's
// log. Its environment contains only necessary variables, so that personal settings have
// no effect.
func (s *Server) command(ctx context.Context, argv []string) (*exec.Cmd, func(), error) {
	log, err := os.OpenFile(s.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = s.dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", "HOME=" + s.dir, "TMPDIR=" + s.dir}
	if s.kind.environ != nil {
		cmd.Env = append(cmd.Env, s.kind.environ(s)...)
	}
	cmd.Env = append(cmd.Env, s.options.environ...)
	return cmd, func() { _ = log.Close() }, nil
}

// run runs a program, and returns when it has ended.
func (s *Server) run(ctx context.Context, argv ...string) error {
	cmd, closeLog, err := s.command(ctx, argv)
	if err != nil {
		return err
	}
	defer closeLog()
	p, err := spawn(cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	<-p.exited
	if !cmd.ProcessState.Success() {
		return fmt.Errorf("%s: %v", argv[0], cmd.ProcessState)
	}
	return nil
}

// write creates a file in the server's folder. Only the server's account can read it.
func (s *Server) write(name, content string) error {
	if err := os.WriteFile(s.path(name), []byte(content), 0o600); err != nil {
		return err
	}
	return giveAway(s.path(name))
}

// File writes a file into the server's folder, and returns its path. Only the server's
// account can read it.
func (s *Server) File(tb testing.TB, name, content string) string {
	tb.Helper()
	if err := s.write(name, content); err != nil {
		tb.Fatal(err)
	}
	return s.path(name)
}

// secret returns random letters, for a password or a unique name.
func secret() string { return rand.Text() }
