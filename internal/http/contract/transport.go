package contract

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
)

// bodyMax is the maximum size of a body that is judged, in bytes. Longer bodies, such as
// exports, are not judged.
const bodyMax = 1 << 20

// exchanged returns a client's exchange; both of its bodies were read.
func exchanged(request *http.Request, sent []byte, response *http.Response, received []byte) Exchange {
	asked := request.Clone(request.Context())
	if at, err := url.ParseRequestURI(request.URL.RequestURI()); err == nil {
		asked.URL = at // the path as it was sent
	}
	return Exchange{asked, sent, response.StatusCode, response.Header.Clone(), received}
}

// Transport makes requests by its Next, and judges every exchange whose answer was read
// to its end.
type Transport struct {
	// Next makes the requests.
	Next http.RoundTripper
	// Judge may be called from any goroutine.
	Judge func(Exchange)
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	var sent bytes.Buffer
	if request.Body != nil {
		asked := *request
		asked.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(request.Body, &sent), request.Body}
		asked.GetBody = nil // a repeated request would be judged twice
		request = &asked
	}
	response, err := t.Next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = &readBody{ReadCloser: response.Body, whole: func(received []byte) {
		t.Judge(exchanged(request, sent.Bytes(), response, received))
	}}
	return response, nil
}

// CloseIdleConnections is the method that http.Client calls on its transport.
func (t *Transport) CloseIdleConnections() {
	if own, is := t.Next.(interface{ CloseIdleConnections() }); is {
		own.CloseIdleConnections()
	}
}

// readBody is an answer's body that reports when it was read to its end.
type readBody struct {
	io.ReadCloser
	kept  bytes.Buffer
	whole func([]byte)
}

// Read implements io.Reader.
func (b *readBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.kept.Len() <= bodyMax {
		b.kept.Write(p[:n])
	}
	if err == io.EOF && b.whole != nil {
		if b.kept.Len() <= bodyMax {
			b.whole(b.kept.Bytes())
		}
		b.whole = nil
	}
	return n, err
}
