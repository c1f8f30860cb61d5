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

// wish is the statement of an Accept header about one media type.
type wish struct {
	// weight is positive if the caller accepts the type.
	weight float64
	// byName means that the caller names the type itself, not only a range that
	// contains it.
	byName bool
}

// wishFor reads a caller's statement about a media type. The most precise range that
// contains the type counts (RFC 9110): application/json before application/* before
// */*. Parameters of types are not compared. Unreadable parts are ignored; a header
// without a readable part accepts everything.
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

// weightOf returns the weight in the parameters of a range; an invalid number counts as
// 0.
func weightOf(params map[string]string) float64 {
	q, given := params["q"]
	if !given {
		return 1
	}
	weight, _ := strconv.ParseFloat(q, 64)
	return weight
}

// prefers reports whether the caller prefers a media type to JSON. If both have the
// same weight, the type must be named.
func prefers(mediaType string, h nethttp.Header) bool {
	wanted, json := wishFor(mediaType, h), wishFor(typeJSON, h)
	return wanted.weight > json.weight || wanted.byName && wanted.weight > 0 && wanted.weight == json.weight
}

// checkAccept refuses a caller who accepts none of the media types of the route's
// answers. Problems are sent to every caller, so a caller that accepts only problems is
// answered too.
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
