package job

import (
	"errors"
	"slices"
	"strings"

	"drawsvc/internal/draw"
)

// The codes that only errors of jobs have.
const (
	// CodeTooLong means that the run took longer than it may.
	CodeTooLong draw.Code = "job-too-long"
	// CodeTakenOver means that the runner was silent for too long, and another one took
	// over.
	CodeTakenOver draw.Code = "job-taken-over"
	// CodeStopped means that the service was stopped during the run.
	CodeStopped draw.Code = "job-stopped"
	// CodeSource means that the source of the catalogue did not answer with a catalogue.
	CodeSource draw.Code = "catalogue-source"
)

// ErrorCodes returns the codes of errors of jobs. All other errors have CodeInternal.
func ErrorCodes() []draw.Code {
	return []draw.Code{
		CodeTooLong, CodeTakenOver, CodeStopped, CodeSource, draw.CodeInternal, draw.CodeStoreUnavailable, draw.CodeContended, draw.CodeOutcomeUnknown,
		draw.CodeOverloaded, draw.CodeLockUnavailable, draw.CodeRulesUnreadable, draw.CodeSealKeyMissing, draw.CodeClockLeapt, draw.CodeLogForked, draw.CodeFeedForked,
	}
}

// describe returns an error as a text to store. The text begins with the code, unless
// that is CodeInternal.
func describe(err error, code draw.Code) string {
	prefix, text := string(code)+": ", err.Error()
	if code == draw.CodeInternal || strings.HasPrefix(text, prefix) {
		return text
	}
	return prefix + text
}

// TakenOver returns the text of the error of a run that another host has taken over.
func TakenOver(host string) string { return string(CodeTakenOver) + ": taken over by " + host }

// codeOf returns the code of the error of a run.
func codeOf(err error) draw.Code {
	code := draw.CodeOf(err)
	switch {
	case errors.Is(err, ErrLost):
		return CodeTakenOver
	case slices.Contains(ErrorCodes(), code):
		return code
	}
	return draw.CodeInternal
}

// ErrorCode returns the code of a stored error, "" for none.
func ErrorCode(text string) draw.Code {
	if text == "" {
		return ""
	}
	code, _, _ := strings.Cut(text, ": ")
	if slices.Contains(ErrorCodes(), draw.Code(code)) {
		return draw.Code(code)
	}
	return draw.CodeInternal
}
