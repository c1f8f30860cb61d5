package servertest

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// askMax is the longest that one question to a server may take.
const askMax = 10 * time.Second

// ask sends words, after which the server answers and hangs up, and returns an
// error unless the answer holds what is wanted. A client library would do it
// too, but logs, retries and pools where one plain question is meant.
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
