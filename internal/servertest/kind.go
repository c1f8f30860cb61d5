package servertest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// kind describes how a kind of server is found, set up, started and queried. Each kind is
// a value in a file of its own.
type kind struct {
	// variable is the environment variable that names a running server.
	variable string
	// packages are the packages to install if a program is missing. If no package has the
	// program, missing is the message.
	packages, missing string
	// programs maps a short name to globs of the program's possible paths. The first glob
	// with a match is used, and its last match. If no glob matches, PATH is searched.
	programs map[string][]string
	// ports is the number of ports that the server needs. The first one is its address.
	ports int
	// setUp creates the data folder once. It is nil if the server creates the folder itself.
	setUp func(ctx context.Context, s *Server) error
	// command is the server's command line, environ its additional environment.
	command func(s *Server) []string
	environ func(s *Server) []string
	// ready makes a real request to the server; nil means that the server is ready.
	ready func(ctx context.Context, s *Server) error
	// url is the server's address in the form that drawsvc reads.
	url func(s *Server) string
	// stop is the signal for a proper shutdown. discard ends the server at once when its
	// data are no longer needed: after the test, and after the death of the test process.
	stop, discard syscall.Signal
	// killed removes what a killed server leaves outside its folder; nil if it leaves
	// nothing.
	killed func(s *Server)
}

// kinds is the registry. To add a server, add a file and a line here.
func kinds() map[string]kind {
	return map[string]kind{
		"postgres":  postgresKind(),
		"mysql":     mysqlServer(),
		"redis":     redisKind(),
		"zookeeper": zookeeperKind(),
		"etcd":      etcdKind(),
	}
}

// kindOf finds a kind by its name.
func kindOf(name string) (k kind, ok bool) {
	if name == TiDB {
		return tidbKind(), true
	}
	k, ok = kinds()[name]
	return k, ok
}

// Kinds returns the names that [Start] accepts, in order, except [TiDB].
func Kinds() []string { return slices.Sorted(maps.Keys(kinds())) }

// missingError means that a server is not installed here. If packages is empty, program
// is the whole message.
type missingError struct{ program, packages string }

// Error implements error.
func (e *missingError) Error() string {
	if e.packages == "" {
		return e.program
	}
	return fmt.Sprintf("%s is not installed: apt-get install %s (.ci/packages does)", e.program, e.packages)
}

// find returns the path of every program of k, or a *missingError.
func (k kind) find() (map[string]string, error) {
	paths := make(map[string]string, len(k.programs))
	for _, name := range slices.Sorted(maps.Keys(k.programs)) {
		path := findProgram(name, k.programs[name])
		if path == "" {
			return nil, &missingError{program: cmp.Or(k.missing, name), packages: k.packages}
		}
		paths[name] = path
	}
	return paths, nil
}

// findProgram returns the path of a program, "" if there is none. Globs take precedence
// over PATH, so that the programs of one package have the same version.
func findProgram(name string, globs []string) string {
	for _, glob := range globs {
		if paths, err := filepath.Glob(glob); err == nil && len(paths) > 0 {
			return paths[len(paths)-1]
		}
	}
	if strings.Contains(name, ".") {
		return "" // a library, not a command
	}
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return ""
}
