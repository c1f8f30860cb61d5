#!/bin/sh
# systemd drops the unit. /var/lib/drawsvc stays, even after a purge: it may contain
# promised prizes.
set -e
if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
