import Testing

/// Eight writing and two reading processes on one store, which are killed, stopped and replaced:
/// every acknowledged save is there once, counters are exact, no update is lost, a wait for a stopped process ends in an error.
///
/// `STRATA_PROCESS_SAVES=n` sets how many saves they make at least, `STRATA_SEED=n` what happens in each.
@Suite(.enabled(if: TortureSettings.canInterpose, "processes stop themselves in a commit on Linux only"))
struct ManyProcessesTests {
  @Test func whatManyProcessesSaveIsThereOnce() async throws {
    try await TortureWorker.run(
      "processes", cases: TortureSettings.processSaves, seed: TortureWorker.seed, processes: 1)
  }
}
