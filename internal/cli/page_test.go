package cli

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// page is a page of the documentation. Its blocks with the mark sh are executed, unless
// the mark continues with a reason: "sh not run: REASON". Blocks with the mark python are
// executed between them, in the order of the page, each by a separate interpreter.
type page struct {
	name  string
	lines []string
	// script has the lines of all executed blocks, each at its line number in the page;
	// the other lines are empty.
	script []string
	// notRun states which blocks are not executed, and why.
	notRun []string
	// prelude, if not empty, is executed before the page. It prepares what a reader of
	// the page already has.
	prelude string
}

// pythonEnd ends the text that the shell passes to the interpreter.
const pythonEnd = "END OF THE BLOCK"

// fence begins or ends a block.
var fence = regexp.MustCompile("^ *(```+) *(.*)$")

// readPage finds the blocks. A block with an unexpected mark is an error, so that no
// block is left out by mistake.
func readPage(name, text string) (*page, error) {
	p := &page{name: name, lines: strings.Split(text, "\n")}
	p.script = make([]string, len(p.lines))
	var open string // the fence of the block
	var begun int
	var runs, python bool
	for i, line := range p.lines {
		found := fence.FindStringSubmatch(line)
		switch {
		case open == "" && found != nil:
			reason, err := marked(found[2])
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
			}
			if reason != "" {
				p.notRun = append(p.notRun, fmt.Sprintf("%s:%d: not run: %s", name, i+1, reason))
			}
			python = found[2] == "python"
			open, begun, runs = found[1], i+1, python || found[2] == "sh"
			if python {
				p.script[i] = "python3 - <<'" + pythonEnd + "'"
			}
		case found != nil && found[1] == open && found[2] == "":
			if open = ""; python {
				p.script[i], python = pythonEnd, false
			}
		case open != "" && runs:
			p.script[i] = line
		}
	}
	if open != "" {
		return nil, fmt.Errorf("%s:%d: the block does not end", name, begun)
	}
	return p, nil
}

// marked returns why a block of shell is not executed, "" for all other blocks.
func marked(info string) (reason string, err error) {
	language, rest, _ := strings.Cut(info, " ")
	switch {
	case strings.Contains(info, "`"):
		return "", errors.New("a mark holds no backtick")
	case language == "":
		return "", errors.New("the block names no language: sh is executed, text is not")
	case slices.Contains([]string{"bash", "shell", "console", "shell-session", "zsh"}, language):
		return "", errors.New("blocks of shell are marked sh")
	case language != "sh" || rest == "":
		return "", nil
	}
	reason, isReason := strings.CutPrefix(rest, "not run:")
	switch reason = strings.TrimSpace(reason); {
	case !isReason:
		return "", fmt.Errorf("%q: a block of shell is marked sh, or sh not run: REASON", rest)
	case reason == "":
		return "", errors.New("why is the block not run?")
	}
	return reason, nil
}

// pageMax is the timeout of a page: only a page that hangs takes so long.
const pageMax = 5 * time.Minute

// pagePrelude is read by the shell before a page's first line.
//
//go:embed testdata/page.sh
var pagePrelude string

// run executes the page in one shell, in an empty folder. Its error names the line that
// failed, and contains the page's output.
func (p *page) run(t *testing.T) error {
	if strings.TrimSpace(strings.Join(p.script, "")) == "" {
		return nil
	}
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	address := servertest.FreeAddr(t)
	here := strings.NewReplacer("0.0.0.0:8080", address, "127.0.0.1:8080", address, "/run/secrets", filepath.Join(folder, "secrets"))
	text := here.Replace(strings.Join(p.script, "\n"))
	write("secrets/admin", "admin-of-the-pages")
	write("secrets/draw", "draw-of-the-pages")
	if strings.Contains(text, "secrets/database") {
		// Durable, as the doctor demands.
		write("secrets/database", servertest.Start(t, "postgres", servertest.Durable()).URL())
	}
	write("home/.curlrc", "fail-with-body\nshow-error\n") // a refused call is an error
	work := filepath.Join(folder, "work")
	require.NoError(t, os.Mkdir(work, 0o700))
	failed := filepath.Join(folder, "failed")

	ctx, cancel := context.WithTimeout(t.Context(), pageMax)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", write(p.name, text))
	cmd.Dir = work
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", "HOME=" + filepath.Join(folder, "home"), "TMPDIR=" + folder,
		"BASH_ENV=" + write("page.sh", pagePrelude+here.Replace(p.prelude)), "PAGE_PROGRAM=" + os.Args[0], "PAGE_FAILED=" + failed,
		"PAGE_ADDRESS=" + address, "DRAWSVC_LISTEN=" + address, "DRAWSVC_REQUEST_TIMEOUT=30s",
	}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that its services end with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s\n%s", p.failure(failed, errors.Join(err, ctx.Err())), strings.ReplaceAll(output.String(), folder+"/", ""))
	}
	return nil
}

// failure returns the number and the exit code of the line that failed, if the shell has
// written them to file.
func (p *page) failure(file string, err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("exit code %d", exit.ExitCode())
	}
	written, _ := os.ReadFile(file) // missing if no line failed
	line, code, _ := strings.Cut(strings.TrimSpace(string(written)), " ")
	number, wrong := strconv.Atoi(line)
	if wrong != nil || number < 1 || number > len(p.lines) {
		return fmt.Sprintf("%s: %v", p.name, err)
	}
	return fmt.Sprintf("%s:%d: exit code %s: %s", p.name, number, code, p.lines[number-1])
}
