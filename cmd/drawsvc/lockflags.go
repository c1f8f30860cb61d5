package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"drawsvc/internal/locker"
)

// lockFlags are the flags of external mode's lock.
type lockFlags struct {
	secret    secret
	ttl, wait time.Duration
	// url is read from the secret.
	url string
}

func (l *lockFlags) flags(f *pflag.FlagSet) {
	l.secret.flag(f, "lock", "table:", "`URL` of external mode's lock")
	f.DurationVar(&l.ttl, "lock-ttl", 10*time.Second, "length of a lease")
	f.DurationVar(&l.wait, lockWaitFlag, 2*time.Second, "longest wait for the lock, at most half of --request-timeout")
}

// lockWaitFlag is the name of the flag of the longest wait.
const lockWaitFlag = "lock-wait"

// fit keeps the wait within a request's time. Known keys are looked up
// behind a wait in vain, when others have waited as long. The default gives way; a
// longer wait that somebody asked for is refused.
func (l *lockFlags) fit(flags *pflag.FlagSet, timeout time.Duration) error {
	longest := timeout / 2
	switch {
	case l.wait <= longest:
	case sourceOf(flags, lockWaitFlag) != byNobody:
		return fmt.Errorf("--lock-wait %s must be at most half of --request-timeout %s: behind a longer wait there is no time left to answer known keys", l.wait, timeout)
	default:
		l.wait = longest
	}
	return nil
}

// read takes the URL from its file, where it is in one.
func (l *lockFlags) read(flags *pflag.FlagSet) (err error) {
	l.url, err = l.secret.readURL(flags)
	return err
}

// isLockService says that a lock is outside the database.
func isLockService(url string) bool { return strings.Contains(url, "://") }

// Validate refuses values out of bounds.
func (l *lockFlags) Validate() error {
	return firstOf(
		checkLock("lock", l.url),
		within("lock-ttl", l.ttl, 100*time.Millisecond, time.Hour),
		within(lockWaitFlag, l.wait, 0, time.Minute),
	)
}

// checkLock refuses a lock that there is not, before anything is opened.
func checkLock(flag, url string) error {
	if err := locker.Check(url); err != nil {
		return fmt.Errorf("--%s: %s", flag, message(err))
	}
	return nil
}

func within(flag string, value, low, up time.Duration) error {
	if value < low || value > up {
		return fmt.Errorf("--%s must be %s to %s", flag, low, up)
	}
	return nil
}
