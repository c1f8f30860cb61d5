#!/bin/sh
# systemd learns of the unit. The service is not started: its settings come first. A
# running one goes on with the old program, so that a migration can come before it.
# DPKG_ROOT: the package is put into another root, which this system's systemd is not of.
set -e
if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
