package contract

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
)

// Judge is a handler that passes on answers and checks every exchange.
type Judge struct {
	next   http.Handler
	check  func(Exchange) error
	report func(error)
}

// NewJudge returns a judge of the answers of next: a handler, or a reverse proxy in
// front of an instance. check is the method Check of a [Contract] or of its [Kinds].
// check and report may be called from any goroutine.
func NewJudge(next http.Handler, check func(Exchange) error, report func(error)) *Judge {
	return &Judge{next: next, check: check, report: report}
}

// ServeHTTP implements http.Handler.
func (j *Judge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var sent bytes.Buffer
	asked := r.Clone(r.Context())
	asked.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(r.Body, &sent), r.Body}
	kept := &keptAnswer{ResponseWriter: w, status: http.StatusOK}
	j.next.ServeHTTP(kept, asked) // a handler that cuts its answer panics here, so the answer is not judged
	received := kept.body.Bytes()
	if w.Header().Get("Content-Encoding") == "gzip" {
		plain, err := gunzip(&kept.body)
		if err != nil {
			j.report(err)
		}
		received = plain
	}
	if err := j.check(Exchange{r, sent.Bytes(), kept.status, w.Header().Clone(), received}); err != nil {
		j.report(err)
	}
}

// gunzip returns the decompressed data, or an error if it is incomplete.
func gunzip(r io.Reader) ([]byte, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// keptAnswer passes an answer on and keeps it.
type keptAnswer struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (k *keptAnswer) WriteHeader(status int) {
	k.status = status
	k.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (k *keptAnswer) Write(b []byte) (int, error) {
	k.body.Write(b)
	return k.ResponseWriter.Write(b)
}

// Flush implements http.Flusher, which gin expects of every writer.
func (k *keptAnswer) Flush() { _ = http.NewResponseController(k.ResponseWriter).Flush() }

// Unwrap is for http.ResponseController.
func (k *keptAnswer) Unwrap() http.ResponseWriter { return k.ResponseWriter }
