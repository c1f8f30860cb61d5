package stock_test

import (
	"testing"
	"time"

	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			stocktest.Run(t, dialect)
		})
	}
}

const (
	waitMax = 2 * time.Minute
	tick    = 50 * time.Millisecond
)
