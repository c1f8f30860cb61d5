#!/bin/sh
# systemd learns of the unit. The service is not started: its settings come first. A
# running one goes on with the old program, so that a migration can come before it.
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
