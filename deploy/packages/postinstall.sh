#!/bin/sh
# Creates the group of the secrets, and makes systemd read the units. It starts no
# service, because the settings must be made first. A running service continues with the
# old program, so that you can migrate before a restart. DPKG_ROOT is set if the package
# is installed into another root, whose units this systemd does not manage.
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
