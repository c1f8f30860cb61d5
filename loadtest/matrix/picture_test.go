package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestThePictureIsWholeAndNamesItsMoments(t *testing.T) {
	line := timeline{Name: "a < b", Samples: []sample{
		{0, 0, 0, 100}, {0.1, 60, 0, 40}, {0.2, 60, 0, 90}, {0.3, 150, 10, 0}, {0.4, 150, 90, 0},
	}}
	text, err := json.Marshal(line)
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "timeline.json"), text, 0o600))
	require.NoError(t, drawPicture(folder))
	svg, err := os.ReadFile(filepath.Join(folder, "draws.svg"))
	require.NoError(t, err)
	for decoder := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	assert.Contains(t, string(svg), "stock is added")
	assert.Contains(t, string(svg), "exactly zero")
	assert.NotContains(t, string(svg), "NaN")
}

func TestTooLittleIsNotDrawn(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "timeline.json"), []byte(`{"samples":[]}`), 0o600))
	assert.Error(t, drawPicture(folder))
}
