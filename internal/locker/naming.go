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

// naming adds information about servers to the error of a ping. It names the servers that
// accept no connection, with the reasons; if all accept one, it names all. The clients of
// etcd and ZooKeeper report only a timeout. A nil error stays nil.
func naming(ctx context.Context, servers []string, err error) error {
	if err == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // the ping has used up its own time
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
			_ = conn.Close() // nothing was sent on the connection
		})
	}
	asked.Wait()
	if said := strings.Join(refusals, ""); said != "" {
		return fmt.Errorf("%w%s", err, said)
	}
	return fmt.Errorf("%w; asked: %s", err, strings.Join(servers, ", "))
}
