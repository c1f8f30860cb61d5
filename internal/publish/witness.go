package publish

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"drawsvc/internal/proof"
)

// Witness cosigns checkpoints per c2sp.org/tlog-witness.
type Witness struct {
	// URL is the prefix of the witness's calls, without a final slash.
	URL string
	Key *proof.Witness
}

const (
	// patience is the maximum time that a checkpoint waits for its witnesses.
	patience = 2 * time.Second
	// backoffMin and backoffMax bound the time during which a failed witness is not asked.
	backoffMin = time.Second
	backoffMax = time.Minute
	// answerMax bounds a witness's response, in bytes.
	answerMax = 1 << 16
)

// attendance is the state of one witness for one log.
type attendance struct {
	Witness
	// knows is the size that the witness cosigned last, as far as the publisher knows.
	knows int64
	// lacks is the size of the first checkpoint without its cosignature, 0 for none.
	lacks int64
	// until is the time before which the witness is not asked. failed counts its failures in
	// a row.
	until  time.Time
	failed int
}

// errTooSmall means that the witness has cosigned a larger tree, so it never cosigns
// this one.
var errTooSmall = errors.New("the witness has cosigned a larger tree already")

// conflict is the size that the witness says it has cosigned last.
type conflict struct{ size int64 }

// Error implements error.
func (c *conflict) Error() string { return fmt.Sprintf("the witness has cosigned %d entries", c.size) }

// cosign requests the line of a cosignature. If the witness reports another last size
// than expected, cosign repeats the request once, from that size.
func (a *attendance) cosign(ctx context.Context, client *http.Client, r tlog.HashReader, c *signed) (string, error) {
	line, err := a.ask(ctx, client, r, c)
	if said, ok := errors.AsType[*conflict](err); ok {
		if said.size > c.Size {
			return "", errTooSmall
		}
		if said.size == a.knows {
			return "", errors.New("the witness has cosigned another tree of that size")
		}
		a.knows = said.size
		line, err = a.ask(ctx, client, r, c)
	}
	if err == nil {
		a.knows = c.Size
	}
	return line, err
}

// ask makes one call of add-checkpoint.
func (a *attendance) ask(ctx context.Context, client *http.Client, r tlog.HashReader, c *signed) (string, error) {
	if a.knows > c.Size {
		return "", errTooSmall
	}
	var body bytes.Buffer
	fmt.Fprintf(&body, "old %d\n", a.knows)
	if a.knows > 0 && a.knows < c.Size {
		steps, err := tlog.ProveTree(c.Size, a.knows, r)
		if err != nil {
			return "", err
		}
		for _, h := range steps {
			fmt.Fprintln(&body, base64.StdEncoding.EncodeToString(h[:]))
		}
	}
	body.WriteString("\n")
	body.Write(bare(c.note))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL+"/add-checkpoint", &body)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	answer, err := io.ReadAll(io.LimitReader(response.Body, answerMax))
	if err != nil {
		return "", err
	}
	return a.read(response.StatusCode, answer, c.text)
}

// read reads the response to add-checkpoint.
func (a *attendance) read(status int, answer []byte, text string) (string, error) {
	switch status {
	case http.StatusOK:
		line, err := a.Key.Line(text, answer)
		if err == nil && line == "" {
			err = errors.New("the answer holds no cosignature of the witness's key")
		}
		return line, err
	case http.StatusConflict:
		size, err := strconv.ParseInt(strings.TrimSuffix(string(answer), "\n"), 10, 64)
		if err != nil || size < 0 {
			return "", errors.New("the answer 409 holds no size")
		}
		return "", &conflict{size}
	}
	return "", fmt.Errorf("the witness answered %d", status)
}

// bare returns a note without any signature but the first, which is the pool's.
func bare(note []byte) []byte {
	lines := proof.Signatures(note)
	return note[:len(note)-len(lines)+bytes.IndexByte(lines, '\n')+1]
}

// rests reports whether the witness failed and is not asked yet.
func (a *attendance) rests() bool { return time.Now().Before(a.until) }

// met records the result of a request. A failed witness is not asked for a while, so that
// it does not delay every checkpoint.
func (a *attendance) met(err error) {
	if err == nil {
		a.failed = 0
		return
	}
	wait := min(backoffMax, backoffMin<<min(a.failed, 6))
	a.failed++
	a.until = time.Now().Add(wait/2 + rand.N(wait/2))
}
