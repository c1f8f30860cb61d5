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
	from, to := filepath.Join(t.TempDir(), "t.json"), filepath.Join(t.TempDir(), "t.svg")
	require.NoError(t, os.WriteFile(from, text, 0o600))
	require.NoError(t, run(from, to))
	svg, err := os.ReadFile(to)
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
	from := filepath.Join(t.TempDir(), "t.json")
	require.NoError(t, os.WriteFile(from, []byte(`{"samples":[]}`), 0o600))
	assert.Error(t, run(from, filepath.Join(t.TempDir(), "t.svg")))
}

func TestCeilingIsRound(t *testing.T) {
	for value, want := range map[float64]float64{0: 1, 0.7: 0.8, 1: 1, 3: 4, 35000: 40000, 81: 100} {
		assert.InDelta(t, want, ceiling(value), 1e-9, "%v", value)
	}
}
