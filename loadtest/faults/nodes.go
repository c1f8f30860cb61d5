package main

import (
	"database/sql"
)

// urlOf is the database URL of an instance.
func (b *base) urlOf(instance int) string {
	if len(b.urls) == 0 {
		return b.url
	}
	return b.urls[instance%len(b.urls)]
}

// everyNode is what has to be looked at where something may be left over.
func (b *base) everyNode() map[string]*sql.DB {
	if len(b.nodes) == 0 {
		return map[string]*sql.DB{"the database": b.admin}
	}
	return b.nodes
}
