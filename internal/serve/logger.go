package serve

import (
	"io"
	"log/slog"

	"drawsvc/internal/setting"
)

// NewLog returns the log of a service, or of a publisher.
func NewLog(c *Config, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.level}
	if c.logFormat == "text" || c.logFormat == "" && setting.IsTerminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}
