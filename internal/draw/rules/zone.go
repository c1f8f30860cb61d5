package rules

import (
	"archive/zip"
	_ "embed"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"drawsvc/internal/draw"
)

// zoneArchive is lib/time/zoneinfo.zip of the Go release that also ships ZoneRelease.
// To update it, copy a newer one from there, together with its release.
//
//go:embed zoneinfo.zip
var zoneArchive string

// ZoneRelease is the release of the IANA time zone database that this binary reads zones
// from. The service reads no zone files of the machine, so two instances begin a day at
// the same instant, even on two machines.
const ZoneRelease = "2025c"

// IsZoneRelease reports whether a text has the form of a release such as 2025c.
func IsZoneRelease(text string) bool {
	year := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	letters := len(text) - len(year)
	return len(year) == 4 && strings.Trim(year, "0123456789") == "" && (letters == 1 || letters == 2)
}

// ParseZone returns the time zone with a name of the IANA list, from ZoneRelease. It
// refuses names whose meaning depends on the machine. Error: CodeInvalidRequest.
func ParseZone(name string) (*time.Location, error) {
	folder, _, _ := strings.Cut(name, "/")
	if slices.Contains([]string{"", "Local", "localtime", "posixrules", "posix", "right"}, folder) {
		return nil, errZone(name)
	}
	if name == "UTC" {
		return time.UTC, nil
	}
	data, err := readZone(name)
	if err != nil {
		return nil, err
	}
	zone, err := time.LoadLocationFromTZData(name, data)
	if err != nil {
		return nil, &draw.Error{Code: draw.CodeInternal, Detail: "the embedded time zones are damaged", Err: err}
	}
	return zone, nil
}

// readZone returns the data of a zone. Error: CodeInvalidRequest for a name that
// the archive does not have.
func readZone(name string) ([]byte, error) {
	//double:later readArchive(name) => readArchive(strings.Replace(name, "America/Later", "Asia/Tokyo", 1))
	data, err := readArchive(name)
	if err != nil {
		return nil, &draw.Error{Code: draw.CodeInternal, Detail: "the embedded time zones are damaged", Err: err}
	}
	if data == nil {
		return nil, errZone(name)
	}
	return data, nil
}

// readArchive returns a file of the archive, nil if there is none.
func readArchive(name string) ([]byte, error) {
	archive, err := zip.NewReader(strings.NewReader(zoneArchive), int64(len(zoneArchive)))
	if err != nil {
		return nil, err
	}
	for _, f := range archive.File {
		if f.Name != name || strings.HasSuffix(name, "/") {
			continue
		}
		file, err := f.Open()
		if err != nil {
			return nil, err
		}
		defer file.Close() //nolint:errcheck // it was read
		return io.ReadAll(file)
	}
	return nil, nil
}

// errZone refuses a name, and proposes the zone whose name or city is most similar to
// it.
func errZone(name string) error {
	zones := zoneNames()
	nearest := draw.Nearest(name, zones)
	if nearest == "" {
		cities := make(map[string]string, len(zones))
		for _, zone := range zones {
			cities[path.Base(zone)] = zone
		}
		nearest = cities[draw.Nearest(name, slices.Sorted(maps.Keys(cities)))]
	}
	if nearest != "" {
		nearest = `; did you mean "` + nearest + `"?`
	}
	return draw.ErrorOfMember("zone", "is not the name of a time zone, such as Europe/Berlin%s", nearest)
}

// zoneNames lists the zones of the archive. The list is empty if the archive is damaged.
func zoneNames() (names []string) {
	archive, err := zip.NewReader(strings.NewReader(zoneArchive), int64(len(zoneArchive)))
	if err != nil {
		return nil
	}
	for _, f := range archive.File {
		if strings.Contains(f.Name, "/") && !strings.HasSuffix(f.Name, "/") {
			names = append(names, f.Name)
		}
	}
	return names
}
