package server

// QuietHeap makes the garbage collector run less often. It runs when the heap has doubled since its last run, and the
// server keeps so little alive that under load this happens dozens of times a second. The bytes count as alive but are
// never touched, so the kernel gives no memory for them; what grows is the garbage that may lie between two runs, by
// this much and no more, however large the heap is.
//
// The caller keeps the result reachable as long as it serves, and asks for it before anything else is allocated: memory
// that was used before would have to be cleared, and so be touched.
func QuietHeap() []byte { return make([]byte, 16<<20) }
