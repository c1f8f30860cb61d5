package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/spf13/cobra"

	"drawsvc/internal/hook"
	"drawsvc/internal/stock"
)

// hookFlags are the flags of `serve` for hooks.
type hookFlags struct {
	allow string
	// allowed are the parsed networks of allow.
	allowed []netip.Prefix
}

func (h *hookFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&h.allow, "hook-allow", "", "inner networks that webhooks may be sent to, by http too, such as 10.0.0.0/8,fd00::/8: `CIDR`s, separated by commas (default none)")
}

// Validate parses the networks.
func (h *hookFlags) Validate() error {
	h.allowed = nil
	for text := range strings.SplitSeq(h.allow, ",") {
		if h.allow == "" {
			return nil
		}
		p, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil || p != p.Masked() || p.Addr().Is4In6() {
			return fmt.Errorf("--hook-allow: %q is not a network, such as 10.0.0.0/8", text)
		}
		h.allowed = append(h.allowed, p)
	}
	return nil
}

// hookMetrics shows hooks as metrics. It implements hook.Observer.
type hookMetrics struct {
	attempts *prometheus.CounterVec
	lag      *prometheus.GaugeVec
	state    *prometheus.GaugeVec

	mu sync.Mutex
	// known are the hooks that are shown.
	known map[string]bool
}

func newHookMetrics(r prometheus.Registerer) *hookMetrics {
	f := promauto.With(r)
	return &hookMetrics{
		attempts: f.NewCounterVec(prometheus.CounterOpts{
			Name: "drawsvc_hook_attempts_total", Help: "Attempts of this instance to send a message, by hook and result: ok or failed.",
		}, []string{"hook", "result"}),
		lag: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "drawsvc_hook_lag_seconds", Help: "Age of the oldest entry that a hook has not passed; 0 without one.",
		}, []string{"hook"}),
		state: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "drawsvc_hook_state", Help: "1 for the state of a hook, 0 for the others: on, failing, off or forked.",
		}, []string{"hook", "state"}),
		known: map[string]bool{},
	}
}

// Attempted implements hook.Observer.
func (m *hookMetrics) Attempted(hookID string, a *hook.Answer) {
	result := "failed"
	if a.IsAccepted() {
		result = "ok"
	}
	m.attempts.WithLabelValues(hookID, result).Inc()
}

// watch reads the hooks about every watchEvery until stop is called.
func (m *hookMetrics) watch(store *stock.Store) (stop func()) {
	return startReading(func(ctx context.Context) {
		all, now, err := store.ReadHooks(ctx)
		if err != nil {
			return // if the read fails, the last numbers stay
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		former := m.known
		m.known = map[string]bool{}
		for i := range all {
			h := &all[i]
			m.known[h.ID] = true
			lag := 0.0
			if !h.Lag.Oldest.IsZero() {
				lag = max(0, now.Sub(h.Lag.Oldest).Seconds())
			}
			m.lag.WithLabelValues(h.ID).Set(lag)
			for _, s := range []hook.State{hook.StateOn, hook.StateFailing, hook.StateOff, hook.StateForked} {
				is := 0.0
				if s == h.State {
					is = 1
				}
				m.state.WithLabelValues(h.ID, string(s)).Set(is)
			}
		}
		for id := range former {
			if !m.known[id] {
				of := prometheus.Labels{"hook": id}
				m.lag.DeletePartialMatch(of)
				m.state.DeletePartialMatch(of)
				m.attempts.DeletePartialMatch(of)
			}
		}
	})
}

// newRelay returns the relay that sends events.
func newRelay(sender *hook.Sender, store *stock.Store, m *hookMetrics, log *slog.Logger) *hook.Relay {
	return &hook.Relay{Feed: store, Sender: sender, Observer: m, Log: log, Now: store.Now, HasHooks: store.HasHooks}
}
