package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
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

// read returns the value, which the command line, the environment or a file
// gives. What the file holds is trimmed of the white space around it.
func (s *secret) read(flags *pflag.FlagSet) (string, error) {
	if s.file == "" {
		return s.value, nil
	}
	if flags.Changed(s.name) {
		return "", usageError{fmt.Errorf("give --%s or --%s-file, not both", s.name, s.name)}
	}
	text, err := readPrivate(s.file)
	if err != nil {
		return "", usageError{fmt.Errorf("--%s-file: %w", s.name, err)}
	}
	value := strings.TrimSpace(string(text))
	if value == "" {
		return "", usageError{errors.New("--" + s.name + "-file: the file is empty")}
	}
	return value, nil
}

// readURL is read for a URL that may hold a password.
func (s *secret) readURL(flags *pflag.FlagSet) (string, error) {
	value, err := s.read(flags)
	if err != nil {
		return "", err
	}
	if holdsRawPassword(value) {
		return "", usageError{errors.New("--" + s.name +
			": the password in the URL holds a raw @, : or /; percent-encode them: @ is %40, : is %3A, / is %2F")}
	}
	return value, nil
}

// holdsRawPassword says whether the password of a URL holds a character that
// ends it. Such a URL must not be used: a part of the password would be taken
// for the host, and asked of the name servers.
func holdsRawPassword(text string) bool {
	_, rest, ok := strings.Cut(text, "://")
	if !ok {
		return false
	}
	rest, _, _ = strings.Cut(rest, "?")
	at := strings.LastIndex(rest, "@")
	if at < 0 {
		return false
	}
	user, password, _ := strings.Cut(rest[:at], ":")
	return strings.ContainsAny(user, "@/") || strings.ContainsAny(password, "@:/")
}

// warn logs what makes the secret less of one: a value on the command line,
// which every user of the machine can list, and a file that others can use.
func (s *secret) warn(flags *pflag.FlagSet, log *slog.Logger) {
	f := flags.Lookup(s.name)
	if f.Changed && f.Annotations[fromVariable] == nil && s.isSecret() {
		log.Warn("a secret is on the command line, where every user of this machine can read it; use the file flag",
			"flag", "--"+s.name, "instead", "--"+s.name+fileSuffix)
	}
	warnOfMode(log, "--"+s.name+fileSuffix, s.file, othersMayUse)
}

// isSecret says whether the value is to be kept: a token, or a URL that has a
// password.
func (s *secret) isSecret() bool {
	if strings.HasSuffix(s.name, tokenFlag) {
		return true
	}
	u, err := url.Parse(s.value)
	if err != nil {
		return true // who knows what it holds
	}
	_, has := u.User.Password()
	return has
}

const (
	// othersMayUse are the bits of a file's mode that let others read or write.
	othersMayUse os.FileMode = 0o027
	// othersMayReadOrWrite are these bits, and that the group may read, as
	// the doctor judges it.
	othersMayReadOrWrite os.FileMode = 0o066
	// othersMayWrite are those that let others write.
	othersMayWrite os.FileMode = 0o022
)

// warnOfMode logs that a file is open to others. A file that cannot be read is
// an error elsewhere.
func warnOfMode(log *slog.Logger, flag, file string, loose os.FileMode) {
	info, err := os.Stat(file)
	if file == "" || err != nil || info.Mode().Perm()&loose == 0 {
		return
	}
	log.Warn("a file that should be private is open to other users of this machine; use chmod 600",
		"flag", flag, "mode", fmt.Sprintf("%04o", info.Mode().Perm()))
}
