/// What the runs of one job become in the file of results.
struct SaveFigures {
  var job: SaveJob
  var contenders: [SaveContender]
  /// By contender.
  var results: [[SaveRun]]

  private static let faster = "GRDB, the faster of both"

  var all: [Figure?] {
    var figures = zip(contenders, results).flatMap { contender, runs in
      self.figures(contender.name, runs, required: contender.isStrata ? mostWork : nil)
    }
    let references = zip(contenders, results).filter(\.0.isReference).map(\.1)
    guard let fastest = references.min(by: { seconds($0) < seconds($1) }) else { return figures }
    figures += self.figures(Self.faster, fastest, required: nil)
    for (contender, runs) in zip(contenders, results) where contender.isStrata {
      figures.append(
        .multiple(
          name, contender.name, seconds(fastest) / seconds(runs), of: Self.faster, required: leastSpeed))
    }
    return figures
  }

  private var name: String { job.threads == 1 ? job.title : "\(job.title), \(job.threads) threads" }
  private var saves: Double { Double(job.threads * job.saves) }

  private func seconds(_ runs: [SaveRun]) -> Double { runs.map(\.seconds).median }

  private func figures(_ contender: String, _ runs: [SaveRun], required: Bound?) -> [Figure?] {
    func latency(_ measure: Figure.Measure, _ nanoseconds: (SaveRun) -> UInt64) -> Figure? {
      .measured(name, contender, as: measure, runs.map { Double(nanoseconds($0)) }, scale: 1e-3, unit: "µs")
    }
    return [
      .seconds(name, contender, runs.map { $0.seconds / saves }, .microseconds),
      .seconds(
        name, contender, as: .processorTime, runs.map { $0.processorSeconds / saves }, .microseconds,
        required: required),
      latency(.latency50) { $0.latency(0.5) }, latency(.latency99) { $0.latency(0.99) },
      latency(.latency999) { $0.latency(0.999) }, latency(.slowest) { $0.slowest.last ?? 0 },
      .measured(name, contender, as: .written, runs.map { Double($0.bytesWritten) / saves }, unit: "bytes"),
    ]
  }

  /// How many times as fast as the faster GRDB: of single objects that are inserted in a context on the coordinator, into stores without indexes.
  private var leastSpeed: Bound? {
    guard job.work == .insert, job.place == .root, !job.isIndexed else { return nil }
    return switch (job.promise, job.threads) {
    case (.durable, 1): .atLeast(1.33)
    case (.durable, 8): .atLeast(4)
    case (.durable, 32): .atLeast(6)
    case (.relaxed, 1): .atLeast(1)
    default: nil
    }
  }

  /// The processor's microseconds, of saves that flush nothing.
  private var mostWork: Bound? {
    guard job.work == .insert, job.place == .root, job.promise == .none, job.threads == 1 else { return nil }
    return .atMost(job.isIndexed ? 35 : 25)
  }
}
