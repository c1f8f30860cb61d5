package rules

import (
	"archive/zip"
	_ "embed"
	"io"
	"slices"
	"strings"
	"time"

	"drawsvc/internal/draw"
)

// zoneArchive is lib/time/zoneinfo.zip of the Go release that also ships
// ZoneRelease. A newer one is copied from there, together with its release.
//
//go:embed zoneinfo.zip
var zoneArchive string

// ZoneRelease is the release of the IANA time zone database that this binary
// reads zones from. It reads no files of the machine: two instances, and two
// machines, begin a day at the same instant.
const ZoneRelease = "2025c"

// IsZoneRelease reports whether a text has the form of a release such as 2025c.
func IsZoneRelease(text string) bool {
	year := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	letters := len(text) - len(year)
	return len(year) == 4 && strings.Trim(year, "0123456789") == "" && (letters == 1 || letters == 2)
}

// ParseZone returns the time zone of a name of the IANA list, from ZoneRelease.
// Names that mean another zone on each machine are refused. Error:
// CodeInvalidRequest.
func ParseZone(name string) (*time.Location, error) {
	folder, _, _ := strings.Cut(name, "/")
	if slices.Contains([]string{"", "Local", "localtime", "posixrules", "posix", "right"}, folder) {
		return nil, errZone()
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
		return nil, errZone()
	}
	return data, nil
}

// readArchive returns a file of the archive, nil for none.
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

func errZone() error {
	return draw.ErrorOfMember("zone", "is not the name of a time zone, such as Europe/Berlin")
}
