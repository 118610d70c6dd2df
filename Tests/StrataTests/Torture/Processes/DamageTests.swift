import Testing

/// Damaged files are refused and left alone, or can be used without harm; sound files are never refused
/// by opening. The files are tried in processes of their own: a signal or a hang would end one.
@Suite struct DamageTests {
  @Test func damagedFilesNeverEndTheProcess() async throws {
    try await TortureWorker.run("damage", cases: TortureSettings.damagedFiles, seed: TortureWorker.seed)
  }

  @Test(
    "what once ended the process: a row's entity code of another hierarchy, a counter of keys beyond all keys",
    arguments: [33_276_764_124_321, 258_347_535_205_090] as [UInt64])
  func whatOnceEndedTheProcess(seed: UInt64) async throws {
    try await TortureWorker.run("damage", cases: 1, seed: seed, processes: 1)
  }

  @Test func soundFilesAreNeverRefused() async throws {
    try await TortureWorker.run("valid-stores", cases: TortureSettings.validFiles, seed: TortureWorker.seed)
  }
}

/// Decoders fed with mutated inputs neither trap nor hang, and keep their words about what they accept.
@Suite struct FuzzTests {
  @Test(arguments: ["row", "key", "uri", "model", "metadata", "predicate", "format", "xcode", "log"])
  func mutatedInputsNeverTrap(decoder: String) async throws {
    try await TortureWorker.run(
      "fuzz-\(decoder)", cases: TortureSettings.fuzzInputs(decoder), seed: TortureWorker.seed)
  }
}
