#!/bin/sh
# Starts, stops and hurts one kfake that is nobody's child: elsewhere.sh ACTION PORT
set -e
dir=$PWD/elsewhere-$2
pid=$dir/pid
start() {
    mkdir -p "$dir"
    setsid ./kfakebroker "-ports=$2" "-data=$dir/data" -sync -advertise=kfake-1.invalid:9092 \
        >>"$dir/log" 2>&1 </dev/null &
    echo $! >"$pid"
}
ended() {
    for _ in $(seq 100); do
        kill -0 "$(cat "$pid")" 2>/dev/null || return 0
        sleep 0.05
    done
    return 1
}
case $1 in
start) start "$@" ;;
stop)
    kill -CONT "$(cat "$pid")" || true
    kill -TERM "$(cat "$pid")" || true
    ended || kill -9 "$(cat "$pid")" || true
    rm -rf "$dir"
    ;;
kill) kill -9 "$(cat "$pid")" && ended ;;
pause) kill -STOP "$(cat "$pid")" ;;
resume) kill -CONT "$(cat "$pid")" ;;
restart)
    kill -TERM "$(cat "$pid")" 2>/dev/null && ended || true
    start "$@"
    ;;
esac
