package stage

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"drawsvc/internal/fault"
)

// takenMax is the longest that a draw may take to come to an armed point.
const takenMax = 10 * time.Second

// Arm makes something happen at the next draw that comes to the point.
func (i *Instance) Arm(p fault.Point, action string) error {
	_ = os.Remove(i.control + ".taken") // was not there the first time
	return Replace(i.control, string(p)+" "+action+"\n", 0o600)
}

// AwaitTaken waits until a draw has come to the armed point.
func (i *Instance) AwaitTaken() error {
	for until := time.Now().Add(takenMax); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if _, err := os.Stat(i.control + ".taken"); err == nil {
			return nil
		}
	}
	_ = os.Remove(i.control)
	return fmt.Errorf("no draw came to the fault point of instance %d within %v", i.Number, takenMax)
}

// HaltAt stops the program at a fault point for some time.
func (i *Instance) HaltAt(p fault.Point, d time.Duration) error {
	i.mu.Lock()
	i.halts = append(i.halts, span{from: time.Now()})
	i.mu.Unlock()
	defer i.Answers()
	if err := i.Arm(p, "stop"); err != nil {
		return err
	}
	if err := i.AwaitTaken(); err != nil {
		return err
	}
	time.Sleep(d)
	i.Signal(syscall.SIGCONT)
	return nil
}

// Halt keeps the program from running until it gets SIGCONT.
func (i *Instance) Halt() {
	i.mu.Lock()
	i.halts = append(i.halts, span{from: time.Now()})
	i.mu.Unlock()
	i.Signal(syscall.SIGSTOP)
}
