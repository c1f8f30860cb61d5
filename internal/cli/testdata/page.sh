# Read by the shell that executes a page of the documentation, before its first
# line. PAGE_PROGRAM is the program, PAGE_ADDRESS where the page's services
# listen, PAGE_FAILED takes the line that failed and its exit code.
unset BASH_ENV # not for the programs that the page starts
set -eE -o pipefail

page_failed() {
    echo "${BASH_LINENO[-2]} $1" >"$PAGE_FAILED"
    exit "$1"
}
trap 'page_failed $?' ERR

# drawsvc is the program, save that `serve` does not keep the shell: it runs
# until the page ends, or starts another, and must end well.
drawsvc() {
    if [ "${1:-}" != serve ]; then
        DRAWSVC_TEST_BE_MAIN=yes "$PAGE_PROGRAM" "$@"
        return
    fi
    page_end_service
    DRAWSVC_TEST_BE_MAIN=yes "$PAGE_PROGRAM" "$@" &
    page_service=$!
    until curl -s -o /dev/null --max-time 1 "http://$PAGE_ADDRESS/livez"; do
        if ! kill -0 "$page_service" 2>/dev/null; then
            local ended=$page_service
            page_service=
            wait "$ended" # fails as the service did
            return
        fi
        sleep 0.05
    done
}

page_service=
page_end_service() {
    if [ -n "$page_service" ]; then
        local ended=$page_service
        page_service=
        kill -TERM "$ended"
        wait "$ended"
    fi
}
trap page_end_service EXIT

# go runs and builds the program of this repository without another build.
go() {
    case "$*" in
    "run ./cmd/drawsvc"*)
        shift 2
        drawsvc "$@"
        ;;
    "build -trimpath -tags=nomsgpack -ldflags -s -w -o drawsvc ./cmd/drawsvc")
        printf '#!/bin/sh\nDRAWSVC_TEST_BE_MAIN=yes exec "%s" "$@"\n' "$PAGE_PROGRAM" >drawsvc
        chmod +x drawsvc
        ;;
    *) command go "$@" ;;
    esac
}
