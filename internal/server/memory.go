package server

import (
	"context"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"time"

	"github.com/assayhq/assay/internal/host"
)

// QuietHeap makes the garbage collector run less often. It runs when the heap has doubled since its last run, and the
// server keeps so little alive that under load this happens dozens of times a second. The bytes count as alive but are
// never touched, so the kernel gives no memory for them; what grows is the garbage that may lie between two runs, by
// this much and no more, however large the heap is.
//
// The caller keeps the result reachable as long as it serves, and asks for it before anything else is allocated: memory
// that was used before would have to be cleared, and so be touched.
func QuietHeap() []byte { return make([]byte, 16<<20) }

// When memory is given back to the system: see returnMemory.
const (
	startTime      = time.Second // that workers need for their first look at what there is to do
	memoryInterval = 15 * time.Second
	quietRate      = 64 << 20 // bytes that are allocated in an interval while there is little to do
	worthReturning = 64 << 20 // bytes more than were left the last time
)

// returnMemory gives memory back when a rush is over, until ctx ends. By itself the collector runs every two minutes in
// a server that has little to do, and what it finds then is returned slowly.
func returnMemory(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(startTime):
	}
	debug.FreeOSMemory()    // what only the start needed
	_ = host.UnmapProgram() // the same; where it fails, these pages stay
	tick := time.NewTicker(memoryInterval)
	defer tick.Stop()
	before, left := memoryUse()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		allocated, held := memoryUse()
		if quiet := allocated-before < quietRate; quiet && held > left+worthReturning {
			debug.FreeOSMemory()
			_, left = memoryUse()
		}
		before = allocated
	}
}

// memoryUse tells how many bytes were ever allocated, and how many the program holds.
func memoryUse() (allocated, held uint64) {
	samples := []runtimemetrics.Sample{
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	runtimemetrics.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64() - samples[2].Value.Uint64()
}
