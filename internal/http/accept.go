package http

import (
	"mime"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"

	"drawsvc/internal/draw"
	"drawsvc/internal/http/problem"
)

// The media types of answers.
const (
	typeJSON    = "application/json"
	typeProblem = "application/problem+json"
	typeCSV     = "text/csv"
	typeNDJSON  = "application/x-ndjson"
	typePlain   = "text/plain"
	typeZip     = "application/zip"
)

// wish is what an Accept header says of one media type.
type wish struct {
	// weight is above 0 where the caller takes the type.
	weight float64
	// byName says that the caller names the type, and no range that holds it.
	byName bool
}

// wishFor reads what a caller says of a media type. Of the ranges that hold it the
// most precise one counts, as RFC 9110 has it: application/json before application/*
// before */*. Parameters of types are not compared. What cannot be read is left out;
// a caller of whose header nothing can be read takes everything.
func wishFor(mediaType string, h nethttp.Header) wish {
	family, _, _ := strings.Cut(mediaType, "/")
	precision, anyRead := -1, false
	var found wish
	for _, line := range h["Accept"] {
		for part := range strings.SplitSeq(line, ",") {
			kind, params, err := mime.ParseMediaType(part)
			if err != nil || !strings.Contains(kind, "/") {
				continue
			}
			anyRead = true
			precise := -1
			switch kind {
			case mediaType:
				precise = 2
			case family + "/*":
				precise = 1
			case "*/*":
				precise = 0
			}
			if precise > precision {
				precision = precise
				found = wish{weightOf(params), precise == 2}
			}
		}
	}
	if !anyRead {
		return wish{weight: 1}
	}
	return found
}

// weightOf is the weight that the parameters of a range give it; what is no number
// weighs nothing.
func weightOf(params map[string]string) float64 {
	q, given := params["q"]
	if !given {
		return 1
	}
	weight, _ := strconv.ParseFloat(q, 64)
	return weight
}

// prefers says whether the caller would rather have a media type than JSON. Where
// both weigh the same, it must be named.
func prefers(mediaType string, h nethttp.Header) bool {
	wanted, json := wishFor(mediaType, h), wishFor(typeJSON, h)
	return wanted.weight > json.weight || wanted.byName && wanted.weight > 0 && wanted.weight == json.weight
}

// checkAccept refuses a caller who takes none of the media types that the route
// answers with. Problems go to every caller: whoever takes them alone is answered too.
func (r *route) checkAccept(h nethttp.Header) error {
	accept := h["Accept"]
	if len(r.answers) == 0 || len(accept) == 0 || len(accept) == 1 && (accept[0] == "*/*" || accept[0] == typeJSON && r.answers[0] == typeJSON) {
		return nil // almost every caller, at no cost
	}
	takes := func(mediaType string) bool { return wishFor(mediaType, h).weight > 0 }
	if slices.ContainsFunc(r.answers, takes) || takes(typeProblem) {
		return nil
	}
	return draw.Errorf(problem.CodeNotAcceptable, "the call answers with %s, which the Accept header excludes", strings.Join(r.answers, " or "))
}
