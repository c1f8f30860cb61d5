#!/bin/sh
# The group of the secrets is made, and systemd learns of the units. No service is started:
# its settings come first. A running one goes on with the old program, so that a migration
# can come before it.
# DPKG_ROOT: the package is put into another root, which this system's systemd is not of.
set -e
if [ -z "${DPKG_ROOT:-}" ]; then
    if command -v systemd-sysusers >/dev/null; then
        systemd-sysusers drawsvc.conf
    elif ! getent group drawsvc-secrets >/dev/null; then
        groupadd --system drawsvc-secrets
    fi
    chgrp drawsvc-secrets /etc/drawsvc/secrets
    if [ -d /run/systemd/system ]; then
        systemctl daemon-reload
    fi
fi
