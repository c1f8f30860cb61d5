package contract

import (
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// SchemaMember identifies a member of a schema. It is the same in all places that use
// the schema.
type SchemaMember struct {
	of   *openapi3.Schema
	name string
}

// Members adds the members that a schema describes, by their paths.
func Members(schema *openapi3.SchemaRef, at string, into map[string]SchemaMember) {
	if schema == nil {
		return
	}
	for name, ref := range schema.Value.Properties {
		into[at+"/"+name] = SchemaMember{schema.Value, name}
		Members(ref, at+"/"+name, into)
	}
	Members(schema.Value.Items, at+"/*", into)
	for _, one := range slices.Concat(schema.Value.OneOf, schema.Value.AnyOf) {
		Members(one, at, into)
	}
}

// Present adds the members that a value has, as paths.
func Present(value any, at string, into map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			into[at+"/"+name] = true
			Present(member, at+"/"+name, into)
		}
	case []any:
		for _, one := range v {
			Present(one, at+"/*", into)
		}
	}
}
