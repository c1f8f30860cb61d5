package main

import (
	"io"
	"log/slog"
)

// newLog is the log of a service, or of a publisher.
func newLog(c *config, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.level}
	if c.logFormat == "text" || c.logFormat == "" && isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}
