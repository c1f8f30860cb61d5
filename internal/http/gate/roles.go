package gate

import (
	"drawsvc/internal/access"
)

// None is the role of a call that anyone may make.
const None access.Role = "none"

// Allowed is the table of roles. For each role that a call may need, it lists the roles
// whose tokens may make the call.
func Allowed() map[access.Role][]access.Role {
	return map[access.Role][]access.Role{
		access.Admin:   {access.Admin, access.Stock, access.Fulfil, access.Auditor, access.Reader, access.FeedReader, access.Draw, access.Metrics},
		access.Stock:   {access.Stock, access.Auditor, access.Reader},
		access.Auditor: {access.Auditor, access.Reader, access.FeedReader, access.Metrics},
		access.Fulfil:  {access.Fulfil, access.Reader, access.FeedReader},
		access.Draw:    {access.Draw},
		access.Metrics: {access.Metrics},
	}
}
