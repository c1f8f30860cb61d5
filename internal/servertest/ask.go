package servertest

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// askMax is the maximum time of one request to a server.
const askMax = 10 * time.Second

// ask sends words to a server that answers and then disconnects. It returns an error
// unless the answer contains wanted. For one request, ask needs no client library, which
// would also log, retry and pool connections.
func ask(ctx context.Context, addr, words, wanted string) error {
	ctx, cancel := context.WithTimeout(ctx, askMax)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(askMax)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, words); err != nil {
		return err
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return err
	}
	if !strings.Contains(string(answer), wanted) {
		return fmt.Errorf("it answers %q", answer)
	}
	return nil
}
