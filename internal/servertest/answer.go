package servertest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// answer makes an HTTP request and returns the body of the response. Any status but 200
// is an error.
func answer(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Close = true // so that no idle connection is left
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s %s", url, response.Status, said)
	}
	return said, err
}
