package place

import (
	"fmt"
	"strings"

	"drawsvc/internal/lockmode"
)

// Place is where a pool is drawn from: its database, mode, lock (in external mode), and
// number of instances.
type Place struct {
	Database, Mode, Lock string
	Instances            int
}

// Name returns the place's unique name.
func (p Place) Name() string {
	parts := []string{Of(p.Database).Name, p.Mode}
	if p.Lock != "" {
		parts = append(parts, p.Lock+":")
	}
	if p.Instances > 1 {
		parts = append(parts, fmt.Sprintf("×%d", p.Instances))
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// At returns every mode on the given databases: a file has one instance, a server the
// given number.
func At(instances int, databases ...string) []Place {
	var all []Place
	for _, database := range databases {
		for _, mode := range lockmode.Names() {
			p := Place{Database: database, Mode: mode, Instances: instances}
			if mode == lockmode.External {
				p.Lock = "table"
			}
			if database == "sqlite" {
				p.Instances = 1
			}
			all = append(all, p)
		}
	}
	return all
}
