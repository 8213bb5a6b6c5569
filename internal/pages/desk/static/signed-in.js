// Tells the pages of this browser that one is signed in again; they go on by themselves.
new BroadcastChannel("assay-desk").postMessage("signed-in");
