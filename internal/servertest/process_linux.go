package servertest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// settleMax is the maximum time until processes have obeyed a signal that they cannot
// ignore.
const settleMax = time.Minute

// process is a server's first process, from which all other processes of the server can
// be found.
type process struct {
	pid int
	// exited is closed when the first process has ended and its status was read.
	exited chan struct{}
}

// spawn starts cmd in a separate process group. So Ctrl-C in a terminal reaches the test,
// but not its servers. When the test process ends, the kernel sends the signal death to
// cmd.
func spawn(cmd *exec.Cmd, death syscall.Signal) (*process, error) {
	credential, err := credential()
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death, Credential: credential}
	p := &process{exited: make(chan struct{})}
	started := make(chan error)
	go p.keep(cmd, started)
	return p, <-started
}

// detach starts cmd in a separate process group, so that it can outlive this process.
func detach(cmd *exec.Cmd) error {
	credential, err := credential()
	if err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: credential}
	return cmd.Start()
}

// keep starts cmd, and waits for it on a locked thread. The kernel sends the death signal
// when the thread that started cmd ends. The Go runtime may end any thread that is not
// locked.
func (p *process) keep(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.exited)
	err := cmd.Start()
	if err == nil {
		p.pid = cmd.Process.Pid
	}
	started <- err
	if err == nil {
		_ = cmd.Wait() // the way in which the server ended does not matter
	}
}

// credential returns the account of the servers. For root it is the account nobody,
// because PostgreSQL and MariaDB refuse to run as root. Otherwise it is nil, which means
// the current account.
func credential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, fmt.Errorf("servers cannot run as root: %w", err)
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// giveAway makes the servers' account the owner of a file.
func giveAway(path string) error {
	credential, err := credential()
	if credential == nil {
		return err
	}
	return os.Chown(path, int(credential.Uid), int(credential.Gid))
}

func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// ask sends a signal only to the first process.
func (p *process) ask(signal syscall.Signal) {
	if p.running() {
		_ = syscall.Kill(p.pid, signal)
	}
}

// pause stops the first process, and then the others, so that the first starts no more of
// them meanwhile. It returns when all processes of the server are stopped.
func (p *process) pause() {
	p.ask(syscall.SIGSTOP)
	settle([]int{p.pid}, "TtZX")
	others := p.others()
	signalAll(others, syscall.SIGSTOP)
	settle(others, "TtZX")
}

func (p *process) resume() {
	signalAll(p.others(), syscall.SIGCONT)
	p.ask(syscall.SIGCONT)
}

// kill kills all processes of the server, and returns when they have ended.
func (p *process) kill() {
	p.pause()
	others := p.others()
	p.ask(syscall.SIGKILL)
	signalAll(others, syscall.SIGKILL)
	<-p.exited
	settle(others, "ZX")
}

// others returns the processes that descend from the first. A process group does not
// suffice: every backend of PostgreSQL leads a session of its own.
func (p *process) others() []int {
	if !p.running() {
		return nil
	}
	children := make(map[int][]int)
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			_, parent := status(pid)
			children[parent] = append(children[parent], pid)
		}
	}
	found := children[p.pid]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}

// status returns the state letter and the parent of a process; the letter is X if there
// is no such process.
func status(pid int) (state byte, parent int) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 'X', 0
	}
	// The name is in parentheses, and may contain parentheses and spaces.
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	if len(fields) < 2 {
		return 'X', 0
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	return fields[0][0], parent
}

func signalAll(pids []int, signal syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, signal)
	}
}

// settle waits until every process is in one of the states.
func settle(pids []int, states string) {
	for end := time.Now().Add(settleMax); time.Now().Before(end); time.Sleep(time.Millisecond) {
		unsettled := false
		for _, pid := range pids {
			state, _ := status(pid)
			unsettled = unsettled || bytes.IndexByte([]byte(states), state) < 0
		}
		if !unsettled {
			return
		}
	}
}

// moveTo moves the server's processes into a cgroup. A second round moves the processes
// that they start during the first.
func (p *process) moveTo(folder string) (err error) {
	for range 2 {
		for _, pid := range append([]int{p.pid}, p.others()...) {
			err = write(filepath.Join(folder, "cgroup.procs"), strconv.Itoa(pid))
			if state, _ := status(pid); state == 'X' {
				err = nil // the process has ended
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
