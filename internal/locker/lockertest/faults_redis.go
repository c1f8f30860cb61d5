package lockertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
)

// redisDo runs a command on a server.
func redisDo(ctx context.Context, addr string, args ...any) (string, error) {
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer c.Close()
	answer, err := c.Do(ctx, args...).Result()
	return fmt.Sprint(answer), err
}

// overtaken breaks a lock while it is held. Another process gets the lock at once, with a
// later token. The first holder is notified, and its write is rejected.
func overtaken(r *rig, s Subject, what string, sever func() error) error {
	_, other, first, err := r.held(s)
	if err != nil {
		return err
	}
	if err := r.vault.write(r.ctx, r.key, first.token); err != nil {
		return err
	}
	if err := sever(); err != nil {
		return err
	}
	began := time.Now()
	token, _, err := r.served(other, slack)
	if err != nil {
		return err
	}
	if err := errors.Join(after(first.token, token), r.vault.write(r.ctx, r.key, token)); err != nil {
		return err
	}
	if err := r.vault.write(r.ctx, r.key, first.token); !errors.Is(err, stock.ErrStaleToken) {
		return fmt.Errorf("the first holder's write was not refused: %w", orNil(err))
	}
	if err := within(r.ctx, r.TTL/3+slack, first.lost, "the first holder is notified"); err != nil {
		return err
	}
	r.note("%s: next holder at once, token grew, first notified after %.0f ms, its write rejected", what, milliseconds(time.Since(began)))
	return first.release()
}

func redisEmptied(r *rig) error {
	return overtaken(r, r.Subject, "emptied", func() error {
		for _, s := range r.servers {
			if _, err := redisDo(r.ctx, s.Addr(), "FLUSHALL"); err != nil {
				return err
			}
		}
		return nil
	})
}

// redisRolledBack gives the server the state of a replica that had received neither the
// lock nor its token. It is as if that replica had replaced the server at the same
// address.
func redisRolledBack(r *rig) error {
	addr := r.servers[0].Addr()
	if _, err := r.warm(r.Subject, 0); err != nil { // the replica has this token
		return err
	}
	replica := servertest.Start(r.tb, "redis").Addr()
	for _, a := range []string{addr, replica} {
		if _, err := redisDo(r.ctx, a, "CONFIG", "SET", "repl-diskless-sync-delay", "0"); err != nil {
			return err
		}
	}
	if err := errors.Join(follow(r.ctx, replica, addr), lead(r.ctx, replica)); err != nil {
		return err
	}
	return overtaken(r, r.Subject, "failed over to a replica that lags", func() error {
		return errors.Join(follow(r.ctx, addr, replica), lead(r.ctx, addr))
	})
}

// follow makes one server a replica of another.
func follow(ctx context.Context, replica, of string) error {
	host, port, _ := net.SplitHostPort(of)
	if _, err := redisDo(ctx, replica, "REPLICAOF", host, port); err != nil {
		return err
	}
	for {
		info, err := redisDo(ctx, replica, "INFO", "replication")
		if err != nil {
			return err
		}
		if strings.Contains(info, "master_link_status:up") {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// lead ends a replication.
func lead(ctx context.Context, addr string) error {
	_, err := redisDo(ctx, addr, "REPLICAOF", "NO", "ONE")
	return err
}

// redisClock sets the clock of a server during holds. If it is set forward, leases end.
// If it is set back, old tokens must not become valid again.
func redisClock(r *rig) error {
	s, set, err := fakedRedis(r)
	if err != nil {
		return err
	}
	if err := overtaken(r, s, "clock an hour ahead", func() error { return set("+3600s") }); err != nil {
		return err
	}
	l, err := r.openAs(s, 0)
	if err != nil {
		return err
	}
	first, err := r.grab(l)
	if err != nil {
		return err
	}
	if err := set("-3600s"); err != nil {
		return err
	}
	other, err := r.openAs(s, 0)
	if err != nil {
		return err
	}
	if err := mustBeContended(other.WithLock(r.ctx, r.key, nothing)); err != nil {
		return err
	}
	if err := first.release(); err != nil {
		return err
	}
	token, _, err := r.served(other, slack)
	r.note("clock two hours back: lock and token stay valid")
	return errors.Join(err, after(first.token, token))
}

// fakedRedis starts a server whose clock can be set by an amount such as "+3600s". It
// needs the Debian package faketime.
func fakedRedis(r *rig) (s Subject, set func(amount string) error, err error) {
	libraries, err := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
	if err != nil || len(libraries) == 0 {
		return s, nil, errors.New("faketime is not installed: apt-get install faketime")
	}
	addr := servertest.FreeAddr(r.tb)
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return s, nil, err
	}
	dir := r.tb.TempDir()
	clock := filepath.Join(dir, "clock")
	set = func(amount string) error {
		// The file is replaced in one step, because the server reads it each time it reads its
		// clock.
		if err := os.WriteFile(clock+".new", []byte(amount), 0o600); err != nil {
			return err
		}
		return os.Rename(clock+".new", clock)
	}
	if err := set("+0s"); err != nil {
		return s, nil, err
	}
	cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "")
	cmd.Env = []string{
		// The C library's malloc must be loaded before jemalloc, which reads the time before
		// faketime is ready.
		"PATH=" + os.Getenv("PATH"), "LD_PRELOAD=" + libraries[0] + ":libc.so.6", "FAKETIME_TIMESTAMP_FILE=" + clock,
		"FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
	}
	if err := cmd.Start(); err != nil {
		return s, nil, err
	}
	r.tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s = r.Subject
	s.Lock = "redis://" + addr + "/0"
	for {
		if _, err := redisDo(r.ctx, addr, "PING"); err == nil {
			return s, set, nil
		}
		select {
		case <-r.ctx.Done():
			return s, nil, r.ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// oneOfThreeDown: if one of three servers is down or silent, the majority continues, and
// the holder does not notice.
func oneOfThreeDown(r *rig) error {
	holder, err := r.warm(r.Subject, patience)
	if err != nil {
		return err
	}
	other, err := r.warm(r.Subject, 0)
	if err != nil {
		return err
	}
	down := r.servers[0]
	for _, away := range []struct {
		down, back func() error
	}{
		{func() error { down.Kill(); return nil }, down.Start},
		{func() error { down.Pause(); return nil }, func() error { down.Resume(); return nil }},
	} {
		first, err := r.grab(holder)
		if err != nil {
			return err
		}
		if err := away.down(); err != nil {
			return err
		}
		time.Sleep(2 * r.TTL)
		err = mustBeContended(other.WithLock(r.ctx, r.key, nothing))
		if first.isLost() {
			return fmt.Errorf("the holder lost a lock that a majority keeps: %w", errNotRenewed)
		}
		if err != nil {
			return err
		}
		if err := first.release(); err != nil {
			return err
		}
		token, _, err := r.served(other, slack)
		if err := errors.Join(err, after(first.token, token), away.back()); err != nil {
			return err
		}
	}
	r.note("one of three down or silent: goes on")
	return nil
}
