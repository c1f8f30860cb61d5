package serve

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"drawsvc/internal/locker"
	"drawsvc/internal/setting"
)

// lockFlags are the flags of external mode's lock.
type lockFlags struct {
	secret    setting.Secret
	ttl, wait time.Duration
	asked     time.Duration // the requested wait; wait is the part of it that fits into a request's time
	// url is read from the secret.
	url string
}

func (l *lockFlags) flags(f *pflag.FlagSet) {
	l.secret.Flag(f, "lock", "table:", "`URL` of external mode's lock")
	f.DurationVar(&l.ttl, "lock-ttl", 10*time.Second, "length of a lease")
	f.DurationVar(&l.wait, lockWaitFlag, 2*time.Second, "maximum wait for the lock, at most half of --request-timeout (a longer one is cut, with a warning)")
}

// lockWaitFlag is the name of the flag of the maximum wait.
const lockWaitFlag = "lock-wait"

// fit limits the wait for a lock to half of a request's time. Otherwise a known key that
// waits behind such draws would time out before it is looked up.
func (l *lockFlags) fit(timeout time.Duration) {
	l.asked = l.wait
	l.wait = min(l.wait, timeout/2)
}

// warn logs that the wait is shorter than requested.
func (l *lockFlags) warn(flags *pflag.FlagSet, log *slog.Logger) {
	if l.asked > l.wait && setting.SourceOf(flags, lockWaitFlag) != setting.ByNobody {
		log.Warn("the wait for the lock is limited to half of --request-timeout, so that known keys are answered after it",
			"lock_wait", l.asked, "used", l.wait)
	}
}

// read reads the URL from its file, if a file is given.
func (l *lockFlags) read(flags *pflag.FlagSet) (err error) {
	l.url, err = l.secret.ReadURL(flags)
	return err
}

// isLockService reports whether a lock is outside the database.
func isLockService(url string) bool { return strings.Contains(url, "://") }

// Validate refuses values out of bounds.
func (l *lockFlags) Validate() error {
	return setting.FirstOf(
		checkLock("lock", l.url),
		setting.Within("lock-ttl", l.ttl, 100*time.Millisecond, time.Hour),
		setting.Within(lockWaitFlag, l.wait, 0, time.Minute),
	)
}

// checkLock refuses a lock that does not exist, before anything is opened.
func checkLock(flag, url string) error {
	if err := locker.Check(url); err != nil {
		return fmt.Errorf("--%s: %s", flag, setting.Message(err))
	}
	return nil
}
