import Testing

/// Failing calls of the operating system in every task of a store.
///
/// `STRATA_FAULTS=n` sets how many calls fail at least, `STRATA_SEED=n` on what store.
@Suite(.enabled(if: TortureSettings.canInterpose, "calls of liblmdb can be made to fail on Linux only"))
struct FaultTests {
  @Test func whateverCallFailsTheErrorSaysSoAndNothingIsLost() async throws {
    try await TortureWorker.run(
      "faults", cases: TortureSettings.faults, seed: TortureWorker.seed, processes: 1)
  }
}
