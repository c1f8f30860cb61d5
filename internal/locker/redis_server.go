package locker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"drawsvc/internal/draw"
)

// redisServer is one Redis server, and what the locks on it need.
type redisServer struct {
	client  *redis.Client
	scripts redisScripts
	// channel is the channel on which the keys of released locks are published.
	channel string
	wakes   *wakes

	listening sync.Once
	listener  *redis.PubSub
	heard     sync.WaitGroup
}

// redisOptions reads //[USER:PASSWORD@]HOST:PORT[,HOST:PORT…][/DB]. Two hosts are
// refused: if one of them fails, the other cannot form a majority.
func redisOptions(rest string) ([]*redis.Options, error) {
	authority, path, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "/")
	account, hosts := "", authority
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		account, hosts = authority[:at+1], authority[at+1:]
	}
	names := strings.Split(hosts, ",")
	if !strings.HasPrefix(rest, "//") || len(names) == 2 {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "lock must be redis://HOST:PORT/DB, or redis://A,B,C/DB with three hosts or more")
	}
	all := make([]*redis.Options, 0, len(names))
	for _, name := range names {
		o, err := redis.ParseURL("redis://" + account + name + "/" + path)
		if name == "" || err != nil {
			// The cause is left out, because it may contain the password.
			return nil, draw.Errorf(draw.CodeInvalidRequest, "lock %q is not a Redis host of the form HOST:PORT followed by a database number", name)
		}
		all = append(all, o)
	}
	return all, nil
}

// redisServers returns the servers of a URL.
func redisServers(rest string) ([]*redisServer, error) {
	all, err := redisOptions(rest)
	if err != nil {
		return nil, err
	}
	logging.Disable() // callers get every error, so none is logged
	w := newWakes()
	servers := make([]*redisServer, 0, len(all))
	for _, o := range all {
		boundRedis(o)
		servers = append(servers, &redisServer{
			client:  redis.NewClient(o),
			scripts: newRedisScripts(),
			channel: fmt.Sprintf("drawsvc:%d:released", o.DB),
			wakes:   w,
		})
	}
	return servers, nil
}

// boundRedis gives every request a limit, and disables retries. A repeated SET NX would
// find its own key, and mistake it for the key of another holder.
func boundRedis(o *redis.Options) {
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = opTimeout, opTimeout, opTimeout, opTimeout
	o.ContextTimeoutEnabled = true
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

func (s *redisServer) keys(key string) []string {
	// Because of the braces, both keys are in one slot of a cluster.
	return []string{"drawsvc:lock:{" + key + "}", "drawsvc:token:{" + key + "}"}
}

func (s *redisServer) take(ctx context.Context, key, owner string, ttl time.Duration) (granted bool, n int64, err error) {
	return s.runScript(ctx, s.scripts.take, key, owner, ttl)
}

func (s *redisServer) claim(ctx context.Context, key, owner string, ttl time.Duration) (granted bool, n int64, err error) {
	return s.runScript(ctx, s.scripts.claim, key, owner, ttl)
}

// runScript runs a script that returns yes or no, and a number.
func (s *redisServer) runScript(ctx context.Context, script *redis.Script, key, owner string, ttl time.Duration) (bool, int64, error) {
	answer, err := script.Run(ctx, s.client, s.keys(key), owner, ttl.Milliseconds()).Int64Slice()
	if err == nil && len(answer) != 2 {
		err = errors.New("unexpected response from the Redis server")
	}
	if err != nil {
		return false, 0, err
	}
	return answer[0] == 1, answer[1], nil
}

func (s *redisServer) seal(ctx context.Context, key, owner string, token int64) (bool, error) {
	return s.scripts.seal.Run(ctx, s.client, s.keys(key), owner, token).Bool()
}

func (s *redisServer) renew(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return s.scripts.renew.Run(ctx, s.client, s.keys(key), owner, ttl.Milliseconds()).Bool()
}

// release frees the lock if it belongs to owner. If loud is set, it wakes the waiters.
func (s *redisServer) release(ctx context.Context, key, owner string, loud bool) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	channel := ""
	if loud {
		channel = s.channel
	}
	return s.scripts.release.Run(ctx, s.client, s.keys(key), owner, channel, key).Bool()
}

// listen subscribes to releases. It does so once, when a caller waits for the first time.
func (s *redisServer) listen() {
	s.listening.Do(func() {
		s.listener = s.client.Subscribe(context.Background())
		s.heard.Go(s.hear)
	})
}

func (s *redisServer) hear() {
	// If this fails, the client retries by itself.
	_ = s.listener.Subscribe(context.Background(), s.channel)
	for message := range s.listener.ChannelWithSubscriptions() {
		switch m := message.(type) {
		case *redis.Message:
			s.wakes.wake(m.Payload)
		case *redis.Subscription:
			// Messages from the time before the subscription are lost.
			s.wakes.wakeAll()
		}
	}
}

// close ends the connections. No call may be under way.
func (s *redisServer) close() error {
	s.listening.Do(func() {})
	if s.listener != nil {
		_ = s.listener.Close()
	}
	err := s.client.Close()
	s.heard.Wait()
	return err
}

// wakes contains, for each key, the channel that wakes its waiter. A key has one waiter.
type wakes struct {
	mu      sync.Mutex
	waiters map[string]chan struct{}
}

func newWakes() *wakes { return &wakes{waiters: make(map[string]chan struct{})} }

// wait registers the waiter for key until done is called.
func (w *wakes) wait(key string) (wake <-chan struct{}, done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := make(chan struct{}, 1)
	w.waiters[key] = c
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.waiters, key)
	}
}

func (w *wakes) wake(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, waits := w.waiters[key]; waits {
		knock(c)
	}
}

func (w *wakes) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.waiters {
		knock(c)
	}
}

// knock sends one signal to a waiter, however often it is called before the waiter reads
// the signal.
func knock(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
