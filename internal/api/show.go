package api

import (
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
)

// ShowTime returns a time in the form of responses.
func ShowTime(t time.Time) string { return t.UTC().Format(draw.TimeFormat) }

// ShowTimeOrNull is like ShowTime, but returns nil for the zero time.
func ShowTimeOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(ShowTime(t))
}

// ShowEach converts every entry of a list to the form of responses.
func ShowEach[In, Out any](list []In, show func(*In) Out) []Out {
	out := make([]Out, len(list))
	for i := range list {
		out[i] = show(&list[i])
	}
	return out
}

// WriteLine writes v as a line of JSON, in the form of the service's responses. It
// returns the errors of w.
func WriteLine(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// readTime parses a time in a response.
func readTime(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, notOurs(err)
	}
	return at, nil
}

// readEach converts every entry of a list with read.
func readEach[In, Out any](list []In, read func(*In) (Out, error)) ([]Out, error) {
	out := make([]Out, len(list))
	for i := range list {
		var err error
		if out[i], err = read(&list[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// unlessEndless returns a number of units, nil for an endless blank.
func unlessEndless(n int64, isEndless bool) *int64 {
	if isEndless {
		return nil
	}
	return &n
}

// readText returns the string in raw, or nil if the member was not sent.
func readText(member string, raw jsontext.Value) (*string, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var value string
	if raw.Kind() != '"' || json.Unmarshal(raw, &value) != nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "%q must be a string", member)
	}
	return &value, nil
}

// readTextOrNull is like readText, but null means an empty text.
func readTextOrNull(member string, raw jsontext.Value) (*string, error) {
	if raw.Kind() == 'n' {
		return new(string), nil
	}
	return readText(member, raw)
}

// RawText returns a string as JSON, for a member that distinguishes null from absence.
// nil means that the member is absent.
func RawText(s *string) jsontext.Value {
	if s == nil {
		return nil
	}
	quoted, _ := jsontext.AppendQuote(nil, *s) // invalid UTF-8 becomes U+FFFD
	return quoted
}

// rawNull returns null for a member that distinguishes null from absence.
func rawNull() jsontext.Value { return jsontext.Value("null") }

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
