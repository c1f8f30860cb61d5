# Read before a block of docs/backup.md. PAGE_PROGRAM is the program,
# PAGE_CONTROL answers for systemctl, PAGE_STATE keeps the variables from one
# block to the next.
unset BASH_ENV # not for the programs that a block starts
set -eE -o pipefail
if [ -e "$PAGE_STATE" ]; then . "$PAGE_STATE"; fi
set -a
trap 'export -p | grep -vE "^declare -x (PAGE_|SERVICE=|RESTORE_TO=)" >"$PAGE_STATE"' EXIT

drawsvc() { DRAWSVC_TEST_BE_MAIN=yes "$PAGE_PROGRAM" "$@"; }
sudo() { "$@"; }
systemctl() { curl -sS --fail-with-body "$PAGE_CONTROL/$1/$2"; }
