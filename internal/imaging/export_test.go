package imaging

// MaxRunningOfAccount is maxRunningOfAccount for tests from outside.
const MaxRunningOfAccount = maxRunningOfAccount
