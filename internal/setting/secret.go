package setting

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// Secret is a value that may also come from a file, so that it need not appear in a
// process list.
type Secret struct{ name, Value, File string }

// FileSuffix is appended to a flag's name; the result is the flag that names a file.
const FileSuffix = "-file"

// Flag declares --NAME and --NAME-file.
func (s *Secret) Flag(flags *pflag.FlagSet, name, value, usage string) {
	s.name = name
	flags.StringVar(&s.Value, name, value, usage)
	flags.StringVar(&s.File, name+FileSuffix, "", "file that holds the value of --"+name)
}

// Read returns the value from the command line, the environment or a file. White space
// around the content of a file is removed. The first line of a token's file is the token.
// Further lines are former tokens that a service still accepts.
func (s *Secret) Read(flags *pflag.FlagSet) (string, error) {
	if s.File == "" {
		return s.Value, nil
	}
	if flags.Changed(s.name) {
		return "", AsUsage(fmt.Errorf("give --%s or --%s-file, not both", s.name, s.name))
	}
	text, err := ReadPrivate(s.File)
	if err != nil {
		return "", AsUsage(fmt.Errorf("--%s-file: %w", s.name, err))
	}
	value := strings.TrimSpace(string(text))
	if s.isToken() {
		value, _, _ = strings.Cut(value, "\n")
		value = strings.TrimSpace(value)
	}
	if value == "" {
		return "", AsUsage(errors.New("--" + s.name + "-file: the file is empty"))
	}
	return value, nil
}

// ReadURL is like Read, for a URL that may contain a password.
func (s *Secret) ReadURL(flags *pflag.FlagSet) (string, error) {
	value, err := s.Read(flags)
	if err != nil {
		return "", err
	}
	if holdsRawPassword(value) {
		return "", AsUsage(errors.New("--" + s.name +
			": the password in the URL holds a raw @, : or /; percent-encode them: @ is %40, : is %3A, / is %2F"))
	}
	return value, nil
}

// holdsRawPassword reports whether the password of a URL contains an unencoded character
// that ends a password. Such a URL must not be used: a part of the password would be
// parsed as the host, and sent to the name servers.
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

// Warn logs how the secret may leak: on the command line, which every user of the machine
// can list, or in a file that others can use.
func (s *Secret) Warn(flags *pflag.FlagSet, log *slog.Logger) {
	f := flags.Lookup(s.name)
	if f.Changed && f.Annotations[FromVariable] == nil && s.isSecret() {
		log.Warn("a secret is on the command line, where every user of this machine can read it; use the file flag",
			"flag", "--"+s.name, "instead", "--"+s.name+FileSuffix)
	}
	WarnOfMode(log, "--"+s.name+FileSuffix, s.File, OthersMayUse)
}

func (s *Secret) isToken() bool { return strings.HasSuffix(s.name, TokenFlag) }

// isSecret reports whether the value must be kept secret: it is a token, or a URL with a
// password.
func (s *Secret) isSecret() bool {
	if s.isToken() {
		return true
	}
	u, err := url.Parse(s.Value)
	if err != nil {
		return true // the text may contain a password
	}
	_, has := u.User.Password()
	return has
}

const (
	// OthersMayUse are the bits of a file's mode that allow others to read or write, or the
	// group to write. The group may read: it may be the group of the service.
	OthersMayUse os.FileMode = 0o027
	// OthersMayWrite are the bits that allow others to write.
	OthersMayWrite os.FileMode = 0o022
)

// WarnOfMode logs a warning if others can use a file. Code elsewhere reports a file that
// cannot be read.
func WarnOfMode(log *slog.Logger, flag, file string, loose os.FileMode) {
	info, err := os.Stat(file)
	if file == "" || err != nil || info.Mode().Perm()&loose == 0 {
		return
	}
	log.Warn("a file that should be private is open to other users of this machine; use chmod 600",
		"flag", flag, "mode", fmt.Sprintf("%04o", info.Mode().Perm()))
}
