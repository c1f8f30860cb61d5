package client_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"

	"drawsvc/client"
)

// demo starts a service with one prize, for the example. Its first response is lost.
func demo() (url string, stop func()) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked == 1 {
			panic(http.ErrAbortHandler)
		}
		key := strings.Trim(r.Header.Get("Idempotency-Key"), `"`)
		_ = json.NewEncoder(w).Encode(client.Draw{Key: key, Pool: "demo", User: "u1", Awards: []client.Award{{Prize: "gold", Name: "Gold coin"}}})
	}))
	return server.URL, server.Close
}
