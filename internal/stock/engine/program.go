package engine

import (
	"fmt"
	"os"
	"strings"
)

// ProgramPrefix begins the name that each process of drawsvc gives its sessions.
const ProgramPrefix = "drawsvc "

// programMax is the length to which PostgreSQL cuts a session's name.
const programMax = 63

// ProgramName is the name of this process's sessions on the database's server. It
// distinguishes them from the sessions of other processes, so that instances can be
// counted.
func ProgramName() string {
	host, _ := os.Hostname() // without a host name, the process id must be enough
	plain := func(r rune) rune {
		if r == '-' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '-'
	}
	name := fmt.Sprintf("%s%d@%s", ProgramPrefix, os.Getpid(), strings.Map(plain, host))
	return name[:min(len(name), programMax)]
}
