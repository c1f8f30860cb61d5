package cli

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

const (
	// progressLines and progressWait are what makes an import long.
	progressLines = 10_000
	progressWait  = time.Second
	// progressEvery is how often the bar is drawn.
	progressEvery = 100 * time.Millisecond
)

// progress shows how far a long import is, on a terminal.
type progress struct {
	w        io.Writer
	terminal bool
	begun    time.Time
	bar      *progressbar.ProgressBar
}

func newProgress(w io.Writer, terminal bool) *progress {
	return &progress{w: w, terminal: terminal, begun: time.Now()}
}

// at says that so many of the moves are made.
func (p *progress) at(done, total int) {
	if !p.terminal || p.bar == nil && total <= progressLines && time.Since(p.begun) < progressWait {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(p.w),
			progressbar.OptionSetDescription("importing"),
			progressbar.OptionShowCount(),
			progressbar.OptionThrottle(progressEvery),
			progressbar.OptionClearOnFinish(),
		)
	}
	_ = p.bar.Set(done) // a bar that cannot be drawn is no reason to stop
}

// end removes the bar, so that what is printed next stands on a line of its own.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
