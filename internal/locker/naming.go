package locker

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// namingMax is the time that each server has to accept a connection.
const namingMax = 200 * time.Millisecond

// naming adds to the error of a ping the servers that accept no connection, with the
// reasons. If all servers accept one, it adds their names. It is needed because the
// clients of etcd and ZooKeeper report only that the time is over. A nil error stays nil.
func naming(ctx context.Context, servers []string, err error) error {
	if err == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // the time of the ping is over
	dialer := net.Dialer{Timeout: namingMax}
	refusals := make([]string, len(servers))
	var asked sync.WaitGroup
	for i, server := range servers {
		asked.Go(func() {
			conn, err := dialer.DialContext(ctx, "tcp", server)
			if err != nil {
				refusals[i] = "; " + err.Error()
				return
			}
			_ = conn.Close() // nothing was sent
		})
	}
	asked.Wait()
	if said := strings.Join(refusals, ""); said != "" {
		return fmt.Errorf("%w%s", err, said)
	}
	return fmt.Errorf("%w; asked: %s", err, strings.Join(servers, ", "))
}
