package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Measured is what a command took, and how it ended.
type Measured struct {
	Took, Computing time.Duration
	Memory          int64 // peak resident memory in bytes
	Code            int
	Says            string // the last line
}

// readEvery is how often a command's memory is read. The figure that the system returns
// when the command ends is useless: it includes the memory that this program had when it
// started the command.
const readEvery = 50 * time.Millisecond

// Measure runs a command to its end. An exit code other than 0 is not an error.
func Measure(command *exec.Cmd) (m Measured, err error) {
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
			m.Memory = max(m.Memory, mostMemory(command.Process.Pid))
		}
	}
	if _, is := errors.AsType[*exec.ExitError](err); err != nil && !is {
		return m, err
	}
	state := command.ProcessState
	lines := strings.Split(strings.TrimSpace(output.String()), "\n")
	m.Took, m.Computing = time.Since(begun), state.UserTime()+state.SystemTime()
	m.Code, m.Says = state.ExitCode(), lines[len(lines)-1]
	return m, nil
}

// MustMeasure is Measure, but any exit code except 0 is an error.
func MustMeasure(command *exec.Cmd) (Measured, error) {
	m, err := Measure(command)
	if err == nil && m.Code != 0 {
		err = fmt.Errorf("%s ended with code %d: %s", command.Path, m.Code, m.Says)
	}
	return m, err
}
