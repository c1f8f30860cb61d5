package http

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConfigThatCannotWork(t *testing.T) {
	good := newServer(t, &fake{}).Config
	for name, spoil := range map[string]setup{
		"no drawer":      func(c *Config) { c.Drawer = nil },
		"no store":       func(c *Config) { c.Store = nil },
		"no ready":       func(c *Config) { c.Ready = nil },
		"no log":         func(c *Config) { c.Log = nil },
		"no tokens":      func(c *Config) { c.Tokens = nil },
		"no admin token": func(c *Config) { c.Tokens = keep() },
		"no time":        func(c *Config) { c.RequestTimeout = 0 },
		"metrics twice":  func(*Config) {}, // good's registry already has them
	} {
		bad := good
		spoil(&bad)
		_, err := New(bad)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), adminToken, name)
	}
}
