package serve

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// stoppingMax is the maximum time from the signal to the end of the process, without the
// delay. It is the promised maximum, plus a second for a busy machine.
const stoppingMax = endMax + 2*time.Second

// notifyManager reports to the service manager, such as systemd, that the service is
// ready, if the manager requests that report by NOTIFY_SOCKET (Type=notify). When ctx
// ends it reports that the service is stopping, and the maximum time for that, so that a
// --shutdown-delay needs no change of the unit's TimeoutStopSec. The returned function
// cancels the second report.
func notifyManager(ctx context.Context, delay time.Duration, log *slog.Logger) func() bool {
	notify(daemon.SdNotifyReady, log)
	return context.AfterFunc(ctx, func() {
		longest := (delay + stoppingMax).Microseconds()
		notify(fmt.Sprintf("%s\nEXTEND_TIMEOUT_USEC=%d", daemon.SdNotifyStopping, longest), log)
	})
}

func notify(state string, log *slog.Logger) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("the service manager was not notified", "error", err)
	}
}

// endMax bounds the shutdown of the service after the delay: the server takes at most
// 13.5 s of it, and at most 15 s are promised, even on a busy machine.
const endMax = 14 * time.Second
