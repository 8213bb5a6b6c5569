package server

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// TestReturnMemory checks that memory which a rush has left behind is given back when it is over.
func TestReturnMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		go returnMemory(t.Context())
		time.Sleep(startTime)
		synctest.Wait()
		rush := make([]byte, 3*worthReturning)
		for i := 0; i < len(rush); i += 4096 {
			rush[i] = 1
		}
		_, during := memoryUse()
		runtime.KeepAlive(rush)
		rush = nil
		for range 100 { // whatever else runs in this process allocates, too
			time.Sleep(memoryInterval)
			synctest.Wait()
			if _, after := memoryUse(); after+2*worthReturning < during {
				return
			}
		}
		t.Error("the memory is kept")
	})
}
