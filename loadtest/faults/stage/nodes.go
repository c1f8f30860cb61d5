package stage

import (
	"database/sql"
)

// urlOf is the database URL of an instance.
func (b *Base) urlOf(instance int) string {
	if len(b.URLs) == 0 {
		return b.URL
	}
	return b.URLs[instance%len(b.URLs)]
}

// everyNode is what has to be searched where something may be left over.
func (b *Base) everyNode() map[string]*sql.DB {
	if len(b.Nodes) == 0 {
		return map[string]*sql.DB{"the database": b.Admin}
	}
	return b.Nodes
}
