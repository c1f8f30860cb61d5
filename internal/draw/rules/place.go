package rules

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
)

// placeDepthMax is the depth to which a document is searched for a member. No member is
// deeper, and a deeper search would cost more.
const placeDepthMax = 4

// Place adds the line and the column of the refused member to the error of a document, if
// the document has the member. It returns other errors as they are.
func Place(err error, document []byte) error {
	e, ok := errors.AsType[*draw.Error](err)
	if !ok || e.Member == "" {
		return err
	}
	at := findMember(document, e.Member)
	if at < 0 {
		return err
	}
	placed := *e
	placed.Detail += " (" + lineAndColumn(document, at) + ")"
	return &placed
}

// findMember returns the index of the byte at which a member such as limits[0].max
// begins: at its name, or at the value of an element. If the document lacks the member,
// it returns the index of the nearest enclosing member, -1 if there is none.
func findMember(document []byte, member string) int {
	in := jsontext.NewDecoder(bytes.NewReader(document))
	best, at := "", -1
	for {
		start := int(in.InputOffset())
		if _, err := in.ReadToken(); err != nil {
			return at // the end, or invalid text after the last member that was found
		}
		if in.StackDepth() > placeDepthMax {
			continue
		}
		found := nameOf(in.StackPointer())
		rest, isAround := strings.CutPrefix(member, found)
		if len(found) <= len(best) || !isAround || rest != "" && rest[0] != '.' && rest[0] != '[' {
			continue
		}
		best, at = found, start+bytes.IndexFunc(document[start:], isOfToken)
		if rest == "" {
			return at
		}
	}
}

// isOfToken reports whether a character is part of a token. All others only separate
// tokens.
func isOfToken(r rune) bool { return !strings.ContainsRune(" \t\r\n,:", r) }

// lineAndColumn describes a byte of a text. Both count from 1; a column is a character.
func lineAndColumn(text []byte, at int) string {
	before := text[:min(at, len(text))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return fmt.Sprintf("line %d, column %d", line, column)
}

// invalidJSON returns the error of a document that is not JSON, or not in the shape of rules.
func invalidJSON(err error, document []byte) error {
	semantic, _ := errors.AsType[*json.SemanticError](err)
	syntax, _ := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case semantic != nil && errors.Is(err, json.ErrUnknownName):
		return errorOfPointer(semantic.JSONPointer, "unknown member %s"+nearestMember(semantic.JSONPointer))
	case semantic != nil:
		return errorOfPointer(semantic.JSONPointer, "%s must be "+Wanted(semantic.GoType))
	case syntax != nil && errors.Is(err, jsontext.ErrDuplicateName):
		return draw.Errorf(draw.CodeInvalidRequest, "%s is there twice (%s)", MemberOf(syntax.JSONPointer), lineAndColumn(document, int(syntax.ByteOffset)))
	case syntax != nil:
		return draw.Errorf(draw.CodeInvalidRequest, "rules are not valid JSON at %s", lineAndColumn(document, int(syntax.ByteOffset)))
	}
	return draw.Errorf(draw.CodeInvalidRequest, "rules are not valid JSON")
}

// errorOfPointer returns the error of a member. format contains %s for the member.
func errorOfPointer(p jsontext.Pointer, format string) error {
	e := draw.Errorf(draw.CodeInvalidRequest, format, MemberOf(p))
	e.Member = nameOf(p)
	return e
}

// nearestMember returns the known member that resembles an unknown one, or none.
func nearestMember(p jsontext.Pointer) string {
	known := memberOrder()
	if p.Parent() != "" {
		for first := range p.Tokens() {
			known = partOrder(first)
			break
		}
	}
	return draw.OrNearest(p.LastToken(), known)
}

// Wanted states which values a member of type t may have, for the error about a wrong
// value. t is nil if no type describes the value.
func Wanted(t reflect.Type) string {
	if t == nil {
		return "something else"
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "a whole number, written without quotes, fraction or exponent, of at most 18 digits"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	default:
		return "an object"
	}
}

// MemberOf formats a JSON pointer in the usual notation, quoted: "limits[2].max".
func MemberOf(p jsontext.Pointer) string { return draw.Quote(nameOf(p)) }

// nameOf formats a JSON pointer in the usual notation: limits[2].max.
func nameOf(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		_, err := strconv.ParseUint(token, 10, 32)
		switch {
		case err == nil:
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	return b.String()
}
