package main

import (
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// A guard watches the memory of the process. Once it has tripped every step of the search fails, so that it ends at
// once and what it says is known to be worth nothing.
type guard struct {
	limit uint64
	trip  atomic.Bool
}

const watchEvery = 5 * time.Millisecond

// watch starts a guard. It trips at 95 % of the limit. The collector runs twice as often as it would, so that what is
// held is little more than what is used; near a limit of its own it would do nothing else.
func watch(limitMb int) *guard {
	g := &guard{limit: uint64(limitMb) << 20}
	if limitMb <= 0 {
		return g
	}
	debug.SetGCPercent(50)
	go func() {
		for range time.Tick(watchEvery) {
			if held() > g.limit/100*95 {
				g.trip.Store(true)
			}
		}
	}()
	return g
}

func (g *guard) tripped() bool { return g.trip.Load() }

// reset gives the memory of the history before back, so that each has the whole limit for itself.
func (g *guard) reset() {
	if g.limit > 0 && (g.tripped() || held() > g.limit/2) {
		debug.FreeOSMemory()
		g.trip.Store(false)
	}
}

// held is what the process has from the system and has not given back.
func held() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() - sample[1].Value.Uint64()
}
