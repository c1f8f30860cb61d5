package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// secret is a value that may also come from a file, so that it need not stand
// in a process list.
type secret struct{ name, value, file string }

// fileSuffix makes the name of the flag that names the file.
const fileSuffix = "-file"

// flag declares --NAME and --NAME-file.
func (s *secret) flag(flags *pflag.FlagSet, name, value, usage string) {
	s.name = name
	flags.StringVar(&s.value, name, value, usage)
	flags.StringVar(&s.file, name+fileSuffix, "", "file that holds the value of --"+name)
}

// read returns the value. What the file holds is trimmed of the white space
// around it. given says whether the command line or the environment named the
// value itself.
func (s *secret) read(given bool) (string, error) {
	if s.file == "" {
		return s.value, nil
	}
	if given {
		return "", usageError{fmt.Errorf("give --%s or --%s-file, not both", s.name, s.name)}
	}
	text, err := os.ReadFile(s.file)
	if err != nil {
		return "", fmt.Errorf("--%s-file: %w", s.name, err)
	}
	value := strings.TrimSpace(string(text))
	if value == "" {
		return "", usageError{errors.New("--" + s.name + "-file: the file is empty")}
	}
	return value, nil
}
