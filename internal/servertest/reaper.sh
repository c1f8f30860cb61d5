# Waits until the test process has ended, then ends what still works in its
# folders (the arguments) and removes them.
trap '' HUP INT TERM
read -r _ # no line ever comes: it returns when the other end is closed

working() {
    for folder; do
        find /proc/[0-9]*/cwd -maxdepth 0 -lname "$folder*" 2>/dev/null | cut -d/ -f3
    done
}

# The servers got their parent-death signal already. A stopped one can obey
# only when it runs again; after a second nobody is asked any more.
tries=0
while pids=$(working "$@") && [ -n "$pids" ] && [ "$tries" -lt 100 ]; do
    tries=$((tries + 1))
    if [ "$tries" -le 10 ]; then signal=CONT; else signal=KILL; fi
    kill -s "$signal" $pids 2>/dev/null
    sleep 0.1
done
rm -rf "$@"
