package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// fetch reads a JSON answer as an operator. Anything but 200 is an error.
func fetch(ctx context.Context, url string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+adminToken)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", request.URL.Path, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}
