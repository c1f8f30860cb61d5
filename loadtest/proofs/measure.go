package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// verifier is a program that verifies a folder, and what it may take.
type verifier struct {
	name    string
	command []string
	longest time.Duration
	most    int64 // bytes; 0 for no bound
}

type measured struct {
	took, computing time.Duration
	memory          int64 // bytes that were resident at once
	code            int
	says            string // the last line
}

func (v *verifier) run(ctx context.Context, folder string) (m measured, err error) {
	command := exec.CommandContext(ctx, v.command[0], append(v.command[1:len(v.command):len(v.command)], folder)...)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	begun := time.Now()
	if err := command.Start(); err != nil {
		return m, err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for isRunning := true; isRunning; {
		select {
		case err = <-ended:
			isRunning = false
		case <-time.After(readEvery):
			m.memory = max(m.memory, mostMemory(command.Process.Pid))
		}
	}
	if _, is := errors.AsType[*exec.ExitError](err); err != nil && !is {
		return m, err
	}
	state := command.ProcessState
	lines := strings.Split(strings.TrimSpace(output.String()), "\n")
	m.took, m.computing = time.Since(begun), state.UserTime()+state.SystemTime()
	m.code, m.says = state.ExitCode(), lines[len(lines)-1]
	return m, nil
}

// readEvery is how often a verifier's memory is read. What the system says of it
// at its end is no use: it counts what this program had when it started the verifier.
const readEvery = 50 * time.Millisecond

// judge says what a verification may not be.
func (v *verifier) judge(m measured) error {
	switch {
	case m.code != 0:
		return fmt.Errorf("%s ended with code %d: %s", v.name, m.code, m.says)
	case min(m.took, m.computing) > v.longest: // on a machine that does other things besides, it computes for less than it takes
		return fmt.Errorf("%s took %v, of which it computed for %v, and may take %v", v.name, m.took, m.computing, v.longest)
	case v.most > 0 && m.memory > v.most:
		return fmt.Errorf("%s took %d MB of memory, and may take %d", v.name, m.memory>>20, v.most>>20)
	}
	return nil
}
