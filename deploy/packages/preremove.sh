#!/bin/sh
# The units end before their files go. dpkg says remove, rpm 0; neither does so for an
# update.
set -e
case "$1" in
remove | 0)
    if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
        systemctl disable --now drawsvc.service drawsvc-publish.service drawsvc-backup.timer
    fi
    ;;
esac
