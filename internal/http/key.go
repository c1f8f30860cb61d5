package http

import (
	nethttp "net/http"
	"strings"

	"drawsvc/internal/draw"
)

// keyHeader is the name of the header in nethttp.Header.
const keyHeader = "Idempotency-Key"

// idempotencyKey returns the Idempotency-Key, or "" if none was sent. A key may be bare
// or quoted: "abc" with its quotes means abc, and within quotes \" and \\ mean " and \
// (IETF draft). A key that is given twice, empty or not printable ASCII is refused. So
// is an unquoted key with a comma, a blank or a quote: a proxy may join two headers
// with a comma, and the joined text would name another draw.
func idempotencyKey(h nethttp.Header) (string, error) {
	lines := h[keyHeader]
	switch {
	case len(lines) == 0:
		return "", nil
	case len(lines) > 1:
		return "", draw.Errorf(draw.CodeInvalidRequest, "Idempotency-Key is there more than once")
	}
	key := lines[0]
	quoted := key != "" && key[0] == '"'
	if !quoted && strings.ContainsAny(key, ",\" ") {
		return "", draw.Errorf(draw.CodeInvalidRequest, "Idempotency-Key holds a comma, a blank or a quote: put it in double quotes")
	}
	if quoted {
		var ok bool
		if key, ok = unquote(key); !ok {
			return "", draw.Errorf(draw.CodeInvalidRequest, "Idempotency-Key begins with a quote but is not a quoted string")
		}
	}
	return key, draw.CheckKey(key)
}

// unquote returns the text within the quotes of s, which begins with a quote.
func unquote(s string) (string, bool) {
	if len(s) < 2 || s[len(s)-1] != '"' {
		return "", false
	}
	s = s[1 : len(s)-1]
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return "", false
		case '\\':
			if i++; i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", false
			}
		}
		out = append(out, s[i])
	}
	return string(out), true
}
