import ArgumentParser
import Foundation

/// What a save that has returned survives.
enum Promise: String, CaseIterable, ExpressibleByArgument, Sendable {
  /// A power cut. SQLite: `synchronous = FULL`.
  case durable
  /// A power cut may undo the last saves. SQLite: `synchronous = NORMAL`.
  case relaxed
  /// Nothing is flushed: what the save itself costs. SQLite: `synchronous = OFF`.
  case none
}

/// What each save does.
enum SaveWork: String, CaseIterable, ExpressibleByArgument, Sendable {
  case insert, edit
  case insert10 = "insert-10"

  /// How many rows a save makes.
  var rows: Int {
    switch self {
    case .insert: 1
    case .edit: 0
    case .insert10: 10
    }
  }
}

/// Where the objects are that are saved.
enum SavePlace: String, CaseIterable, ExpressibleByArgument, Sendable {
  /// In a context on the coordinator.
  case root
  /// In a child of a child: three saves down to the store.
  case grandchild
  /// In a worker of an `AsynchronousStack`, which is shared by all workers.
  case asynchronous
}

/// One row of a table: the kind of save, the threads and the number of saves.
struct SaveJob: Sendable {
  var promise: Promise
  var work: SaveWork
  var place: SavePlace
  /// Two indexes; Strata records a history, too.
  var isIndexed: Bool
  var threads: Int
  /// By each thread.
  var saves: Int

  var title: String {
    let more = isIndexed ? ", two indexes and a history" : ""
    return "\(promise.rawValue), \(work.rawValue), \(place.rawValue)\(more)"
  }
}

/// How one thread saves once; the argument counts its saves.
enum Saver: Sendable {
  case blocking(@Sendable (Int) throws -> Void)
  case suspending(@Sendable (Int) async throws -> Void)
}

/// A store that is open, and what saves to it.
protocol SavePeer: AnyObject, Sendable {
  /// Prepares what thread number `thread` needs. The clock does not run yet.
  func makeSaver(_ thread: Int) throws -> Saver
  /// How many rows the store holds.
  func count() throws -> Int
  func close() throws
}

/// What is compared.
struct SaveContender: Sendable {
  var name: String
  /// Whether Strata is measured against it.
  var isReference = false
  var isStrata = false
  /// Makes an empty store in a folder.
  var open: @Sendable (URL, SaveJob) async throws -> any SavePeer

  /// Whether it can do the job at all.
  func suits(_ job: SaveJob) -> Bool { isStrata || job.place == .root }
}

/// What one run took.
struct SaveRun: Sendable {
  var seconds = 0.0
  /// Of the whole process, in the kernel and out of it.
  var processorSeconds = 0.0
  /// Handed to the system's calls that write.
  var bytesWritten = 0
  /// Of every save of every thread, ascending, in nanoseconds.
  var latencies: [UInt64] = []
  /// The slowest save of each thread, ascending.
  var slowest: [UInt64] = []

  func latency(_ share: Double) -> UInt64 { latencies.latency(share) ?? 0 }
}

extension SaveJob {
  /// Has `contender` do the job in a new store, and checks what is stored.
  func run(_ contender: SaveContender, in folder: URL) async throws -> SaveRun {
    try? FileManager.default.removeItem(at: folder)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let peer = try await contender.open(folder, self)
    let savers = try (0..<threads).map { try peer.makeSaver($0) }
    let before = try peer.count()
    // What the one before has left is not written out at this one's cost.
    sync()
    let result = try await measure(savers)
    let after = try peer.count()
    try peer.close()
    guard after - before == threads * saves * work.rows else {
      throw BenchmarkError(
        "\(contender.name) has \(after - before) new rows, not \(threads * saves * work.rows)")
    }
    return result
  }

  private func measure(_ savers: [Saver]) async throws -> SaveRun {
    var result = try await withThrowingTaskGroup(of: [UInt64].self) { group in
      var result = SaveRun()
      let gate = Gate(savers.count)
      for saver in savers {
        switch saver {
        case .blocking(let save):
          group.addTask {
            try await Self.onThread {
              gate.pass()
              return try Self.time(self.saves) { try save($0) }
            }
          }
        case .suspending(let save):
          gate.open()
          group.addTask {
            var times: [UInt64] = []
            times.reserveCapacity(self.saves)
            for place in 0..<self.saves {
              let start = DispatchTime.now().uptimeNanoseconds
              try await save(place)
              times.append(DispatchTime.now().uptimeNanoseconds - start)
            }
            return times
          }
        }
      }
      await gate.filled()
      let (processor, bytes) = (ProcessorTime.now(), BytesWritten.now())
      let clock = ContinuousClock()
      let start = clock.now
      gate.open()
      for try await times in group {
        result.latencies += times
        result.slowest.append(times.max() ?? 0)
      }
      result.seconds = (clock.now - start).seconds
      result.processorSeconds = ProcessorTime.now() - processor
      result.bytesWritten = BytesWritten.now() - bytes
      return result
    }
    result.latencies.sort()
    result.slowest.sort()
    return result
  }

  private static func time(_ count: Int, _ save: (Int) throws -> Void) throws -> [UInt64] {
    var times: [UInt64] = []
    times.reserveCapacity(count)
    for place in 0..<count {
      let start = DispatchTime.now().uptimeNanoseconds
      try save(place)
      times.append(DispatchTime.now().uptimeNanoseconds - start)
    }
    return times
  }

  /// A thread of its own: those of a pool are as many as processors.
  private static func onThread(_ body: @escaping @Sendable () throws -> [UInt64]) async throws -> [UInt64] {
    try await withCheckedThrowingContinuation { continuation in
      let thread = Thread { continuation.resume(with: Result { try body() }) }
      thread.start()
    }
  }
}

/// Lets all threads go at once.
private final class Gate: @unchecked Sendable {
  // Unchecked: the counts are touched under `condition`.
  private let condition = NSCondition()
  private var missing: Int
  private var isOpen = false
  private var waiting: CheckedContinuation<Void, Never>?

  init(_ count: Int) { missing = count }

  /// A thread is there; it goes on when the gate opens.
  func pass() {
    condition.withLock {
      missing -= 1
      if missing == 0 {
        waiting?.resume()
        waiting = nil
      }
      while !isOpen { condition.wait() }
    }
  }

  /// Returns when all threads are there, or the gate is open.
  func filled() async {
    await withCheckedContinuation { continuation in
      condition.withLock {
        if missing == 0 || isOpen { continuation.resume() } else { waiting = continuation }
      }
    }
  }

  func open() {
    condition.withLock {
      isOpen = true
      condition.broadcast()
    }
  }
}

/// Seconds that the processors have worked for this process.
enum ProcessorTime {
  static func now() -> Double {
    var usage = rusage()
    #if canImport(Darwin)
      getrusage(RUSAGE_SELF, &usage)
    #else
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    #endif
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }
}

/// What this process has handed to the system's calls that write; 0 where there is no `/proc`.
private enum BytesWritten {
  static func now() -> Int {
    guard let handle = FileHandle(forReadingAtPath: "/proc/self/io") else { return 0 }
    let text = String(decoding: handle.readDataToEndOfFile(), as: UTF8.self)
    for line in text.split(separator: "\n") where line.hasPrefix("wchar:") {
      return Int(line.dropFirst(6).trimmingCharacters(in: .whitespaces)) ?? 0
    }
    return 0
  }
}
