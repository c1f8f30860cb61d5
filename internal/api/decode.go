package api

import (
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

// ReadPool reads a pool from the body of POST /admin/pools. It does not check the mode.
// Error: CodeInvalidRequest.
func ReadPool(document []byte) (draw.Pool, error) {
	var body NewPool
	if err := json.Unmarshal(document, &body, json.RejectUnknownMembers(true)); err != nil {
		return draw.Pool{}, draw.Errorf(draw.CodeInvalidRequest, "%s", DecodeDetail(err))
	}
	return body.Read()
}

// DecodeDetail returns one sentence that names the wrong member of a body and the
// reason.
func DecodeDetail(err error) string {
	semantic, _ := errors.AsType[*json.SemanticError](err)
	syntax, _ := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case semantic != nil && errors.Is(err, json.ErrUnknownName):
		return "unknown member " + rules.MemberOf(semantic.JSONPointer)
	case semantic != nil:
		return rules.MemberOf(semantic.JSONPointer) + " must be " + rules.Wanted(semantic.GoType)
	case syntax != nil && errors.Is(err, jsontext.ErrDuplicateName):
		return "member " + rules.MemberOf(syntax.JSONPointer) + " is there twice"
	case syntax != nil && errors.Is(err, io.ErrUnexpectedEOF):
		return "the body ends within its JSON"
	case syntax != nil:
		return "the body is not valid JSON at byte " + strconv.FormatInt(syntax.ByteOffset, 10)
	}
	return "the body is not valid JSON"
}
