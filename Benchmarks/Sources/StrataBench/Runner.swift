import Foundation

/// Runs the contenders of a benchmark in rounds (A B C, C A B …), after one warm-up round that is not counted and
/// in which every stored byte is compared with the data set.
///
/// Each round has an order of its own, the same in every process: in a fixed one the contender after a slow one was seen to take longer.
struct Runner {
  /// Nil: 11 runs up to 10,000 rows, 5 up to 100,000, 3 above.
  let runs: Int?
  let measuresMemory: Bool
  /// This process's own, below the given root.
  private let directory: URL

  /// Also removes the stores of earlier runs that were interrupted.
  init(root: URL, runs: Int?, measuresMemory: Bool) throws {
    self.runs = runs
    self.measuresMemory = measuresMemory
    directory = root.appendingPathComponent("\(getpid())")
    do {
      try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
      for name in try FileManager.default.contentsOfDirectory(atPath: root.path) {
        guard let process = pid_t(name), process > 0, kill(process, 0) != 0 else { continue }
        try FileManager.default.removeItem(at: root.appendingPathComponent(name))
      }
    } catch {
      throw BenchmarkError("Cannot keep stores in \(root.path): \(error.localizedDescription)")
    }
  }

  /// - Parameter contenders: Who takes part; nil for those of the benchmark.
  func compare(_ benchmark: Benchmark, size: Int, among contenders: [Contender]? = nil) async throws
    -> Comparison
  {
    let contenders = (contenders ?? benchmark.contenders).filter { $0.largestSize >= size }
    var comparison = Comparison(
      benchmark: benchmark, size: size, series: contenders.map { Series(contender: $0) })
    if benchmark == .insert {
      try await insert(&comparison)
    } else {
      try await fetch(&comparison)
    }
    if measuresMemory {
      for index in comparison.series.indices {
        let contender = comparison.series[index].contender
        comparison.series[index].memory = try MemoryUse.ofChild(
          benchmark, contender, size: size, directory: storeDirectory(of: contender, size: size))
      }
    }
    return comparison
  }

  /// Removes every store this run made.
  func cleanUp() throws {
    guard FileManager.default.fileExists(atPath: directory.path) else { return }
    try FileManager.default.removeItem(at: directory)
  }

  /// A fresh store for each run.
  private func insert(_ comparison: inout Comparison) async throws {
    let flights = Flight.make(count: comparison.size)
    let expected = ContentChecksum(of: flights)
    for run in 0...runCount(comparison.size) {
      for index in Self.order(of: comparison, in: run) {
        let contender = comparison.series[index].contender
        let folder = try freshDirectory("insert")
        let store = try await contender.open(folder)
        sync()  // No run pays for what the previous one left to write.
        let (sample, touch) = try Sample.take { try store.insert(flights) }
        guard touch.rows == flights.count else { throw BenchmarkError("\(contender.name) lost rows") }
        if run == 0 {
          try requireEqual(store.contents(), expected, contender)
        } else {
          comparison.series[index].samples.append(sample)
        }
        try store.close()
        comparison.series[index].fileBytes = try fileBytes(in: folder)
      }
    }
  }

  /// One store per library, filled once and left for the next benchmark of the same size.
  private func fetch(_ comparison: inout Comparison) async throws {
    let flights = Flight.make(count: comparison.size)
    let positions = Flight.positions(count: comparison.benchmark.rows(of: flights.count), of: flights.count)
    var expected = Touch()
    for position in positions { expected.add(flights[position]) }
    let contents = ContentChecksum(of: flights)

    var stores: [any PeerStore] = []
    for index in comparison.series.indices {
      let contender = comparison.series[index].contender
      let folder = storeDirectory(of: contender, size: comparison.size)
      let isNew = !FileManager.default.fileExists(atPath: folder.path)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      if isNew {
        let store = try await contender.open(folder)
        _ = try store.insert(flights)
        try store.close()
      }
      let store = try await contender.open(folder)
      try requireEqual(store.contents(), contents, contender)
      try store.prepare(positions: positions)
      stores.append(store)
    }
    for run in 0...runCount(comparison.size) {
      for index in Self.order(of: comparison, in: run) {
        let store = stores[index]
        let (sample, touch) = try Sample.take {
          try comparison.benchmark == .fetch ? store.fetchAll() : store.fetchByID()
        }
        guard touch == expected else {
          let name = comparison.series[index].contender.name
          throw BenchmarkError("\(name) read other values than were stored")
        }
        if run > 0 { comparison.series[index].samples.append(sample) }
      }
    }
    for store in stores { try store.close() }
    for index in comparison.series.indices {
      let folder = storeDirectory(of: comparison.series[index].contender, size: comparison.size)
      comparison.series[index].fileBytes = try fileBytes(in: folder)
    }
  }

  /// The places of the contenders, in the order of a round.
  private static func order(of comparison: Comparison, in round: Int) -> [Int] {
    var random = SplitMix64(state: UInt64(round))
    return comparison.series.indices.shuffled(using: &random)
  }

  private func runCount(_ size: Int) -> Int {
    runs ?? (size <= 10_000 ? 11 : size <= 100_000 ? 5 : 3)
  }

  private func storeDirectory(of contender: Contender, size: Int) -> URL {
    directory.appendingPathComponent("\(size)-\(contender.library)")
  }

  private func freshDirectory(_ name: String) throws -> URL {
    let folder = directory.appendingPathComponent(name)
    if FileManager.default.fileExists(atPath: folder.path) { try FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
  }

  private func requireEqual(
    _ found: ContentChecksum, _ expected: ContentChecksum, _ contender: Contender
  ) throws {
    guard found == expected else {
      throw BenchmarkError("\(contender.name) stored other bytes than it was given")
    }
  }

  private func fileBytes(in folder: URL) throws -> Int {
    try FileManager.default
      .contentsOfDirectory(at: folder, includingPropertiesForKeys: [.fileSizeKey])
      .reduce(0) { sum, file in try sum + (file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0) }
  }
}

extension ContentChecksum {
  init(of flights: [Flight]) {
    for flight in flights { add(flight) }
  }
}
