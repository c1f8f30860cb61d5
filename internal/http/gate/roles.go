package gate

import (
	"drawsvc/internal/access"
)

// None is the role of a call that anyone may make.
const None access.Role = "none"

// Allowed is the table of roles: which calls a token of a role may make, by
// the role that the call needs.
func Allowed() map[access.Role][]access.Role {
	return map[access.Role][]access.Role{
		access.Admin:   {access.Admin, access.Stock, access.Auditor, access.Draw, access.Metrics},
		access.Stock:   {access.Stock, access.Auditor},
		access.Auditor: {access.Auditor, access.Metrics},
		access.Draw:    {access.Draw},
		access.Metrics: {access.Metrics},
	}
}
