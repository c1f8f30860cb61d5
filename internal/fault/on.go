//go:build faults && unix

package fault

import (
	"os"
	"strings"
	"syscall"
	"time"
)

// At runs the fault that is armed for the point, once. The fault slow runs each time.
func At(p Point) {
	if !Armed(p) {
		return
	}
	file := os.Getenv("DRAWSVC_FAULTS")
	line, err := os.ReadFile(file)
	words := strings.Fields(string(line))
	if err == nil && len(words) > 2 && words[1] == "slow" {
		sleep(words[2])
		return
	}
	if err != nil || os.Rename(file, file+".taken") != nil {
		return // another draw has taken it
	}
	switch words[1] {
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "sleep":
		sleep(words[len(words)-1])
	default:
		panic("fault at " + string(p))
	}
}

func sleep(text string) {
	if d, err := time.ParseDuration(text); err == nil {
		time.Sleep(d)
	}
}

// Armed reports whether a fault is armed for the point.
func Armed(p Point) bool {
	file := os.Getenv("DRAWSVC_FAULTS")
	if file == "" {
		return false
	}
	line, err := os.ReadFile(file)
	words := strings.Fields(string(line))
	return err == nil && len(words) > 1 && words[0] == string(p)
}

// Unguarded removes the check of version and mark from a statement if the environment
// requests it. The parameters keep their positions.
func Unguarded(statement string) string {
	if os.Getenv("DRAWSVC_UNGUARDED") != "1" {
		return statement
	}
	statement = strings.Replace(statement, " AND version = $2 AND mark = $10", " AND $2::bigint IS NOT NULL AND $10::bigint IS NOT NULL", 1)
	return strings.Replace(statement, " AND version = ? AND mark = ?", " AND ? IS NOT NULL AND ? IS NOT NULL", 1)
}

// Moved returns the machine's time, moved by the content of the file that the
// environment names, such as "-3600s".
func Moved(t time.Time) time.Time {
	file := os.Getenv("DRAWSVC_CLOCK")
	if file == "" {
		return t
	}
	text, err := os.ReadFile(file)
	if err != nil {
		panic(err) // with an unmoved clock the experiment would prove nothing
	}
	moved, err := time.ParseDuration(strings.TrimPrefix(strings.TrimSpace(string(text)), "+"))
	if err != nil {
		panic(err)
	}
	return t.Add(moved)
}

// Variables returns the environment variables that arm faults.
func Variables() []string { return []string{"DRAWSVC_FAULTS", "DRAWSVC_UNGUARDED", "DRAWSVC_CLOCK"} }
