import Testing

/// Power cuts at every point of stories of saves, group commits and backups.
///
/// `STRATA_CRASH_STATES=n` sets how many distinct states are opened, `STRATA_SEED=n` which.
@Suite(.enabled(if: TortureSettings.canInterpose, "calls of liblmdb are recorded on Linux only"))
struct PowerCutTests {
  @Test func afterAPowerCutTheStoreHoldsWhatWasPromised() async throws {
    try await TortureWorker.run("crash-states", cases: TortureSettings.crashStates, seed: TortureWorker.seed)
  }

  /// The test of the test: on a disk that ignores flushes, violations must be found.
  @Test func withoutFlushesViolationsAreFound() async throws {
    try await TortureWorker.run("lying-disk", cases: 1, seed: TortureWorker.seed, processes: 1)
  }
}
