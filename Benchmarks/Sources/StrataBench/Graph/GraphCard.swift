import ArgumentParser
import Foundation

/// The card “graph”: flights linked on import, followed to their planes and back, deleted by a cascade.
struct Graph: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Import flights with five links each, traverse plane → flights, delete with a cascade.")

  @Option(help: "The folder with airlines, airports, planes, weather and flights, each .csv or .csv.gz.")
  var data: String?
  @Option(help: "Counted runs.") var runs = 5
  @Option(help: "Flights in one durable save.") var batch = 10_000
  @Option(help: "Only the contenders whose names begin so.") var only = ""
  @Option(help: "Folder for the stores; it should lie on a disk, not in memory.")
  var directory = ".build/bench-stores"
  @OptionGroup var output: ResultsOptions

  func validate() throws {
    guard runs > 0, batch > 0 else { throw ValidationError("--runs and --batch need positive numbers.") }
  }

  enum Part: String, CaseIterable {
    case importing = "import, five links each"
    case traversal = "plane → flights → plane, all planes"
    case deletion = "delete a tenth of the planes with their flights"

    var requiredRatio: Double { self == .traversal ? 2 : 3 }
  }

  private struct Contender {
    var name: String
    var open: (URL) async throws -> any GraphPeer
    /// One that stands for another way to traverse only.
    var isForInformation = false
    var seconds: [Part: [Double]] = [:]
    var fileBytes = 0

    func median(_ part: Part) -> Double { (seconds[part] ?? []).median }
  }

  func run() async throws {
    let root = URL(fileURLWithPath: directory).appendingPathComponent("graph-\(getpid())")
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: root) }
    let data = try GraphData(data.map { URL(fileURLWithPath: $0) } ?? GraphData.sample)
    let expected = data.expectedCounts()
    show("## strata-bench graph\n")
    let machine = try Machine(directory: root)
    show(machine.conditions.map { "- \($0)\n" }.joined())
    show("\(expected), in batches of \(batch), counted runs: \(runs)\n")
    var contenders = [
      Contender(name: "GRDB, including(all:)") { try GRDBGraph(directory: $0, traversal: .prefetching) },
      Contender(
        name: "GRDB, a request for each plane",
        open: { try GRDBGraph(directory: $0, traversal: .eachPlane) }, isForInformation: true),
      Contender(name: "Strata") { try await StrataGraph(directory: $0) },
    ]
    contenders.removeAll { !$0.name.hasPrefix(only) }
    guard !contenders.isEmpty else { throw ValidationError("No contender's name begins with \(only).") }
    for run in 0...runs {
      for index in contenders.indices {
        try await take(data, expected, &contenders[index], root, isCounted: run > 0)
      }
    }
    report(contenders)
    try output.write("graph", figures(contenders, flights: data.flights.count), on: machine)
  }

  /// One round of one contender, in a fresh store. Every result is compared with what the data say.
  private func take(
    _ data: GraphData, _ expected: GraphCounts, _ contender: inout Contender, _ root: URL, isCounted: Bool
  ) async throws {
    let folder = root.appendingPathComponent("store")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let peer = try await contender.open(folder)
    let tails = data.planes.enumerated().filter { $0.offset % 10 == 0 }.map(\.element.tail)
    var times: [Part: Double] = [:]
    sync()  // No run pays for what the previous one left to write.
    times[.importing] = try seconds { try peer.importAll(data, batch: batch) }
    try requireEqual(peer.counts(), expected, contender, .importing)
    var touch = GraphTouch()
    times[.traversal] = try seconds { touch = try peer.traverse() }
    try requireEqual(touch, data.expectedTouch(), contender, .traversal)
    sync()
    times[.deletion] = try seconds { try peer.delete(tails: tails) }
    try requireEqual(peer.counts(), data.expectedCounts(without: Set(tails)), contender, .deletion)
    try peer.close()
    contender.fileBytes = try FileManager.default
      .contentsOfDirectory(at: folder, includingPropertiesForKeys: [.fileSizeKey])
      .reduce(0) { sum, file in try sum + (file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0) }
    try FileManager.default.removeItem(at: folder)
    guard isCounted else { return }
    for (part, seconds) in times { contender.seconds[part, default: []].append(seconds) }
  }

  private func seconds(_ work: () throws -> Void) rethrows -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    try work()
    return (clock.now - start).seconds
  }

  private func requireEqual<Value: Equatable>(
    _ found: Value, _ expected: Value, _ contender: Contender, _ part: Part
  ) throws {
    if found == expected { return }
    throw BenchmarkError("\(contender.name), \(part.rawValue): \(found) instead of \(expected)")
  }

  private func report(_ contenders: [Contender]) {
    var table = Table(header: ["", "part", "median ms", "min", "max", "× GRDB", "required", "file MB"])
    for part in Part.allCases {
      for contender in contenders where part == .traversal || !contender.isForInformation {
        let times = contender.seconds[part] ?? []
        let isStrata = contender.name == "Strata"
        table.rows.append([
          contender.name, part.rawValue, milliseconds(times.median), milliseconds(times.min() ?? .nan),
          milliseconds(times.max() ?? .nan),
          String(format: "%.2f", contenders[0].median(part) / times.median),
          isStrata ? String(format: "%.0f", part.requiredRatio) : "",
          String(format: "%.1f", Double(contender.fileBytes) / 1e6),
        ])
      }
    }
    show("\(table)\n")
  }

  private func figures(_ contenders: [Contender], flights: Int) -> [Figure?] {
    var figures: [Figure?] = []
    let strata = contenders.first { $0.name == "Strata" }
    for part in Part.allCases {
      let name =
        part != .importing
        ? part.rawValue : batch >= flights ? "import, one save" : "import, a save each \(batch) flights"
      for contender in contenders where part == .traversal || !contender.isForInformation {
        figures.append(
          .seconds(name, size: flights, contender.name, contender.seconds[part] ?? [], .milliseconds))
        guard let strata, contender.name != strata.name else { continue }
        figures.append(
          .multiple(
            name, size: flights, strata.name, contender.median(part) / strata.median(part),
            of: contender.name,
            required: contender.isForInformation ? nil : .atLeast(part.requiredRatio)))
      }
    }
    for contender in contenders where !contender.isForInformation {
      figures.append(
        .measured(
          "the store after the deletion", size: flights, contender.name, as: .file,
          [Double(contender.fileBytes)],
          scale: 1e-6, unit: "MB"))
    }
    return figures
  }

  private func milliseconds(_ seconds: Double) -> String { String(format: "%.1f", seconds * 1_000) }

  /// At once, into a pipe too: a run takes minutes.
  private func show(_ text: String) {
    print(text)
    fflush(nil)
  }
}
