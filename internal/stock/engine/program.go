package engine

import (
	"fmt"
	"os"
	"regexp"
	"sync"
)

// ProgramPrefix begins the name that each process of drawsvc gives its sessions.
const ProgramPrefix = "drawsvc "

// programMax is the longest name that PostgreSQL keeps.
const programMax = 63

// ProgramName is the name of this process's sessions on the database's server. It tells
// them from those of other processes, so that instances can be counted.
var ProgramName = sync.OnceValue(func() string {
	host, _ := os.Hostname() // without it the process id has to do
	name := fmt.Sprintf("%s%d@%s", ProgramPrefix, os.Getpid(), regexp.MustCompile(`[^A-Za-z0-9.-]`).ReplaceAllString(host, "-"))
	return name[:min(len(name), programMax)]
})
