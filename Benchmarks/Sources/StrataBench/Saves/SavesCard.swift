import ArgumentParser
import Foundation

/// The card “saves”: what a small save costs, and what many threads that save at once do to each other.
struct Saves: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract:
      "Small saves by one and many threads, durable and not, against GRDB, raw LMDB and a plain append."
  )

  @Option(parsing: .upToNextOption, help: "How many threads save at once.") var threads = [1, 2, 8, 32]
  @Option(parsing: .upToNextOption, help: "Which promises: durable, relaxed, none.")
  var promises = Promise.allCases
  @Option(parsing: .upToNextOption, help: "What each save does: insert, edit, insert-10.")
  var works = SaveWork.allCases
  @Option(parsing: .upToNextOption, help: "Where: root, grandchild, asynchronous.")
  var places = SavePlace.allCases
  @Flag(help: "Only stores without, or with, two indexes and a history.") var stores: [SaveStores] = []
  @Option(help: "Counted runs of each.") var runs = 5
  @Option(help: "Saves of each thread. Default: 1,000 by one thread, fewer by many.") var saves: Int?
  @Flag(help: "One counted run of a fifth of the saves, no warming up: while working on something.")
  var quick = false
  @Flag(help: "Leave out everything but Strata.") var onlyStrata = false
  @Option(help: "Folder for the stores; it should lie on a disk, not in memory.")
  var directory = ".build/bench-stores"
  @OptionGroup var output: ResultsOptions

  enum SaveStores: String, EnumerableFlag {
    case plain, indexed
  }

  func validate() throws {
    guard runs > 0, saves ?? 1 > 0, threads.allSatisfy({ $0 > 0 }) else {
      throw ValidationError("Runs, saves and threads are positive numbers.")
    }
  }

  func run() async throws {
    let root = URL(fileURLWithPath: directory)
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    show("## saves\n")
    let machine = try Machine(directory: root)
    show(machine.conditions.map { "- \($0)\n" }.joined())
    var figures: [Figure?] = []
    for promise in promises {
      for (work, place, isIndexed) in combinations {
        figures += try await compare(promise, work, place, isIndexed, root)
      }
    }
    try output.write("saves", figures, on: machine, note: quick ? "quick: a fifth of the saves" : nil)
  }

  /// Everything with everything would take an hour and say nothing more.
  private var combinations: [(SaveWork, SavePlace, Bool)] {
    let all: [(SaveWork, SavePlace, Bool)] = [
      (.insert, .root, false), (.edit, .root, false), (.insert10, .root, false), (.insert, .root, true),
      (.edit, .root, true), (.insert10, .root, true), (.insert, .grandchild, false),
      (.edit, .grandchild, false), (.insert, .asynchronous, false),
    ]
    return all.filter { work, place, isIndexed in
      works.contains(work) && places.contains(place)
        && (stores.isEmpty || stores.contains(isIndexed ? .indexed : .plain))
    }
  }

  private func compare(
    _ promise: Promise, _ work: SaveWork, _ place: SavePlace, _ isIndexed: Bool, _ root: URL
  ) async throws -> [Figure?] {
    var figures: [Figure?] = []
    var job = SaveJob(
      promise: promise, work: work, place: place, isIndexed: isIndexed, threads: 1, saves: 1)
    var table = Table(header: [
      job.title, "threads", "µs a save", "min–max", "× GRDB", "50 %", "99 %", "99.9 %",
      "slowest of each thread", "processor µs", "bytes",
    ])
    for count in threads.sorted() {
      job.threads = count
      job.saves = max(1, (saves ?? usualSaves(count)) / (quick ? 5 : 1))
      let contenders = (SaveContender.strata + (onlyStrata ? [] : SaveContender.peers)).filter {
        $0.suits(job)
      }
      var results = [[SaveRun]](repeating: [], count: contenders.count)
      for round in (quick ? 1 : 0)...(quick ? 1 : runs) {
        for (number, contender) in contenders.enumerated() {
          let run = try await job.run(contender, in: root.appendingPathComponent("saves"))
          if round > 0 { results[number].append(run) }
        }
      }
      let references = zip(contenders, results).filter(\.0.isReference).map { $0.1.map(\.seconds).median }
      figures += SaveFigures(job: job, contenders: contenders, results: results).all
      for (contender, runs) in zip(contenders, results) {
        table.rows.append(line(contender, job, runs, fastest: references.min()))
      }
    }
    show("\(table)\n")
    return figures
  }

  private func usualSaves(_ threads: Int) -> Int { threads == 1 ? 1_000 : max(100, 1_000 / threads + 75) }

  private func line(_ contender: SaveContender, _ job: SaveJob, _ runs: [SaveRun], fastest: Double?)
    -> [String]
  {
    let total = Double(job.threads * job.saves)
    let seconds = runs.map(\.seconds)
    func shown(_ value: Double) -> String { String(format: value < 100 ? "%.1f" : "%.0f", value) }
    func micro(_ seconds: Double) -> String { shown(seconds * 1e6 / total) }
    func time(_ nanoseconds: (SaveRun) -> UInt64) -> String {
      shown(runs.map { Double(nanoseconds($0)) }.median / 1e3)
    }
    return [
      contender.name, "\(job.threads)", micro(seconds.median),
      "\(micro(seconds.min() ?? .nan))–\(micro(seconds.max() ?? .nan))",
      fastest.map { String(format: "%.2f", $0 / seconds.median) } ?? "",
      time { $0.latency(0.5) }, time { $0.latency(0.99) }, time { $0.latency(0.999) },
      job.threads == 1
        ? time { $0.slowest.last ?? 0 }
        : "\(time { $0.slowest.first ?? 0 })–\(time { $0.slowest.last ?? 0 })",
      micro(runs.map(\.processorSeconds).median),
      String(format: "%.0f", runs.map { Double($0.bytesWritten) }.median / total),
    ]
  }

  private func show(_ text: String) {
    print(text)
    fflush(nil)
  }
}
