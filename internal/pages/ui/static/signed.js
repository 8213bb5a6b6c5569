// Requests of scripts need an answer to themselves. Browsers tell the server who asks only over HTTPS and on this machine:
// elsewhere it leads who is signed out to the sign-in, as it leads a page.

// ask is fetch that follows to no other page and ends in time.
export const ask = (address, options) =>
  fetch(address, { redirect: "manual", signal: AbortSignal.timeout(15000), ...options });

// isSignedOut tells whether the answer says that the server does not know any more who this is.
export const isSignedOut = (answer) => answer?.status === 401 || answer?.type === "opaqueredirect";
