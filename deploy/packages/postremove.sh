#!/bin/sh
# systemd drops the unit. /var/lib/drawsvc stays, on purge too: it may hold promised
# prizes.
set -e
if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
