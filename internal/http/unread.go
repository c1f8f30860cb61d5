package http

import (
	"bytes"
	nethttp "net/http"
	"strconv"
	"time"

	"drawsvc/internal/draw"
)

// net/http answers by itself what it cannot read as a request: a status line, two
// headers, and text. Callers were promised a problem and the headers of every
// answer, so the connection writes those in place of it. That form is a habit
// which no documentation promises: TestUnreadRequestsAreProblems holds net/http
// to it. Behind TLS, where the connection sees ciphertext, the text remains.
const (
	unreadHeaders  = "Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
	unreadExpected = "HTTP/1.1 417 " // the status of an Expect header, which no handler answers with
)

// unread says what net/http found wrong in a request that it could not read. ok is
// false for all else that is written, such as the answer of a handler.
func unread(b []byte) (detail string, ok bool) {
	if !bytes.HasPrefix(b, []byte("HTTP/1.1 ")) {
		return "", false
	}
	if bytes.HasPrefix(b, []byte(unreadExpected)) {
		return "the Expect header asks for something else than 100-continue", true
	}
	line, rest, _ := bytes.Cut(b, []byte("\r\n"))
	if !bytes.HasPrefix(rest, []byte(unreadHeaders)) {
		return "", false
	}
	status, _ := strconv.Atoi(string(line[len("HTTP/1.1 "):min(len(line), len("HTTP/1.1 400"))]))
	_, reason, isNamed := bytes.Cut(line, []byte(": "))
	switch {
	case isNamed:
		return "the request cannot be read: " + string(reason), true
	case status == nethttp.StatusRequestHeaderFieldsTooLarge:
		return "the request line and the headers are too long together", true
	case status == nethttp.StatusNotImplemented:
		return "the request cannot be read: unsupported transfer encoding", true
	}
	return "the request cannot be read: it is no HTTP as RFC 9112 has it", true
}

// rejection is the whole answer, headers and all, to a request that could not be
// read. Nothing happened, whatever it was meant to be.
func (s *Server) rejection(detail string) []byte {
	e := draw.Errorf(draw.CodeInvalidRequest, "%s", detail)
	body := appendProblem(nil, s.problems[e.Code], e, true)
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 400 Bad Request\r\n")
	_ = nethttp.Header{ // to memory: cannot fail
		"Cache-Control":          s.headers.noStore,
		"X-Content-Type-Options": s.headers.noSniff,
		requestIDHeader:          {s.ids.next()},
		"Content-Type":           {typeProblem},
		"Content-Length":         {strconv.Itoa(len(body))},
		"Connection":             {"close"},
		"Date":                   {time.Now().UTC().Format(nethttp.TimeFormat)},
	}.Write(&b)
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes()
}
