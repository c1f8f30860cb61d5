package http

import (
	nethttp "net/http"

	"drawsvc/internal/draw"
	"drawsvc/internal/ui"
)

// uiFile answers with a file of the admin page. The files hold nothing secret:
// what the page shows it asks for with a token of its user.
func uiFile(name string) handler {
	return func(c call) error {
		file, found := ui.Open(name)
		if !found {
			return draw.Errorf(draw.CodeNotFound, "the admin page has no file %s", quoted(name))
		}
		h := c.gin.Writer.Header()
		h.Set("Content-Type", file.Type)
		h.Set("Content-Security-Policy", ui.Policy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		c.write(nethttp.StatusOK, file.Body)
		return nil
	}
}
