#!/bin/sh
# Stops the units before their files are removed. The argument is remove from dpkg and 0
# from rpm, but not during an update.
set -e
case "$1" in
remove | 0)
    if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
        systemctl disable --now drawsvc.service drawsvc-publish.service drawsvc-backup.timer
    fi
    ;;
esac
