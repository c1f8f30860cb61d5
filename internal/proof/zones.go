package proof

import (
	"strings"

	"drawsvc/internal/draw/rules"
)

// Zones returns the content of the file zones. It names the release of the time zone
// database that the folder's writer used. It is not signed, and no verification depends
// on it. If a window differs, it shows which releases to compare.
func Zones() []byte { return []byte(rules.ZoneRelease + "\n") }

// zones returns the release that the folder names, "" for none.
func (v *verifier) zones() string {
	content, _ := v.readOptional("zones") // an unreadable file counts as missing
	if release := strings.TrimSuffix(string(content), "\n"); rules.IsZoneRelease(release) {
		return release
	}
	return ""
}
